"""The training of one attempt, from the first step to the last. Built by main.py out of parts that know no more of it.

    warm start     supervised steps until held-out answers are good enough
    iteration      take prompts ─► generate ─► score ─► filter ─► advantages ─► cut into steps
                   then for each step: schedule ─► train ─► push weights ─► report

It knows neither Ray nor torch nor HTTP: parts come as the protocols of `contracts/`, so tests run it on fakes.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from orchestrator.batch_policy import cut_into_steps
from orchestrator.batch_size import BatchPosition
from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.contracts.batch_spec import AllBatchSpec, BatchSpec
from orchestrator.contracts.messages import EventMessage
from orchestrator.contracts.rollout import Reporter
from orchestrator.contracts.rollout_spec import FilterSpec
from orchestrator.group_filter import EmptyDecision, decide_when_empty
from orchestrator.rollout_round import RolledOut, Roller
from orchestrator.step_message import NO_ROLLOUTS, RolloutCounts
from orchestrator.step_runner import PhaseGoal, StepRunner, StopRequestedError
from orchestrator.stopwatch import Stopwatch
from orchestrator.train_items import TrainItem, rollout_items
from orchestrator.warm_start import WarmStart

_log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """How training ended, when it did not fail."""

    SUCCEEDED = "succeeded"
    """Every iteration is done."""
    STOPPED = "stopped"
    """The server wanted it to end."""


class NothingToTrainError(Exception):
    """Too many iterations in a row gave no step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationPlan:
    """What is done with the rollouts of each iteration, and how often."""

    iterations: int
    advantage: AdvantageEstimator
    batch: BatchSpec
    filter_spec: FilterSpec
    rollouts_per_iteration: int


class TrainingLoop:
    """One attempt."""

    def __init__(
        self,
        *,
        warm_start: WarmStart | None,
        goal: PhaseGoal,
        plan: IterationPlan,
        roller: Roller,
        steps: StepRunner,
        reporter: Reporter,
    ) -> None:
        self._warm_start = warm_start
        self._goal = goal
        self._plan = plan
        self._roller = roller
        self._steps = steps
        self._reporter = reporter
        self._num_empty = 0
        self._position = BatchPosition()

    def run(self) -> Outcome:
        """Train to the end.

        Raises:
            NothingToTrainError: too many iterations in a row without a surviving group.
            TrainerError, EngineError: a part cannot go on.
        """
        try:
            if self._warm_start is not None:
                self._warm_start.run()
            self._steps.begin(self._goal)
            self._steps.push_weights()
            for iteration in range(self._plan.iterations):
                self._iterate(iteration)
        except StopRequestedError as stop:
            _log.info("%s", stop)
            return Outcome.STOPPED
        return Outcome.SUCCEEDED

    def _iterate(self, iteration: int) -> None:
        """One round of generate and train."""
        since = Stopwatch()
        self._tell_activity(iteration, f"generating {self._plan.rollouts_per_iteration} rollouts")
        rolled = self._roller.roll(iteration, num_empty_before=self._num_empty)
        items = rollout_items(rolled.filtered.kept, self._plan.advantage)
        cut = cut_into_steps(
            [item.shape for item in items],
            self._plan.batch,
            position=self._position,
            is_last_iteration=iteration + 1 == self._plan.iterations,
        )
        if not cut.steps:
            self._skip(iteration, rolled, num_dropped=len(cut.dropped))
            return
        self._num_empty = 0
        counts = RolloutCounts(
            num_generated=rolled.num_generated,
            num_filtered=len(rolled.filtered.filtered),
            num_dropped=len(cut.dropped),
        )
        self._tell_activity(iteration, f"training {len(cut.steps)} steps on {len(items)} samples")
        self._train([[items[i] for i in step] for step in cut.steps], iteration, rolled, counts, since)

    def _train(
        self,
        steps: Sequence[Sequence[TrainItem]],
        iteration: int,
        rolled: RolledOut,
        counts: RolloutCounts,
        since: Stopwatch,
    ) -> None:
        """Train the steps of an iteration. The first one tells of the rollouts, the last one pushes the weights."""
        for k, items in enumerate(steps):
            since = since if k == 0 else Stopwatch()
            trained = self._steps.train(items, iteration=iteration)
            self._position = self._position.after(len(items))
            metrics = rolled.metrics() if k == 0 else {}
            if k + 1 == len(steps):
                metrics |= self._steps.push_weights()
            self._steps.report(trained, since=since, metrics=metrics, counts=counts if k == 0 else NO_ROLLOUTS)

    def _skip(self, iteration: int, rolled: RolledOut, *, num_dropped: int) -> None:
        """Record an iteration that gives no step: weights and LR position stay. Too many in a row end the run."""
        decision = decide_when_empty(
            num_refills=self._plan.filter_spec.max_refills,
            num_empty_before=self._num_empty,
            filter_spec=self._plan.filter_spec,
        )
        self._num_empty += 1
        message = _why_empty(iteration, rolled, num_dropped)
        _log.warning(message)
        self._reporter.event(
            EventMessage(
                key=f"iteration_skipped/{iteration}",
                kind="iteration_skipped",
                at=datetime.now(UTC),
                message=message,
                data=self._empty_data(iteration, rolled, num_dropped),
            )
        )
        if decision is EmptyDecision.FAIL:
            raise NothingToTrainError(
                f"{self._num_empty} iterations in a row gave nothing to train, and filter.max_consecutive_empty is "
                f"{self._plan.filter_spec.max_consecutive_empty}. The last one: {message}"
            )

    def _empty_data(self, iteration: int, rolled: RolledOut, num_dropped: int) -> dict[str, Any]:
        return {
            "status": EmptyDecision.SKIP,
            "iteration": iteration,
            "num_generated": rolled.num_generated,
            "num_filtered": len(rolled.filtered.filtered),
            "num_dropped": num_dropped,
            "num_refills": rolled.num_refills,
            "lr_advance": 0,
            "reward_mean": rolled.metrics()["reward/mean"].value,
        }

    def _tell_activity(self, iteration: int, doing: str) -> None:
        left = self._plan.iterations - iteration
        # Other batch policies make as many steps as what the filter leaves allows, which nobody knows beforehand.
        one_step_each = isinstance(self._plan.batch, AllBatchSpec)
        self._reporter.activity(
            f"iteration {iteration} of {self._plan.iterations}: {doing}",
            num_steps=self._steps.num_steps,
            total_steps=self._steps.num_steps + left if one_step_each else None,
        )


def _why_empty(iteration: int, rolled: RolledOut, num_dropped: int) -> str:
    if num_dropped:
        return (
            f"Iteration {iteration} is skipped: its {num_dropped} rollouts that survived the filter fill no step, and "
            "batch.remainder=drop trains no smaller one"
        )
    reward = rolled.metrics()["reward/mean"].value
    told = "no rollout could be scored" if reward is None else f"the mean reward was {reward:.3f}"
    return (
        f"Iteration {iteration} is skipped: none of its {len(rolled.groups)} groups survived the filter after "
        f"{rolled.num_refills} refills; {told}"
    )
