"""The training of one attempt, from the first step to the last. Built by main.py out of parts that know no more of it.

    warm start     supervised steps until held-out answers are good enough
    iteration      take prompts ─► generate ─► judge ─► filter ─► (log-probs) ─► advantages ─► cut into steps
                   what is left waits; then for each step: schedule ─► train ─► push weights ─► report
                   and at the end of it: the books and the rollouts

It knows neither Ray nor torch nor HTTP: parts come as the protocols of `contracts/`, so tests run it on fakes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from orchestrator.batching.adaptive_size import AdaptiveSize
from orchestrator.batching.batch_policy import cut_into_steps
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.batching.size_plan import steps_left
from orchestrator.checkpointing.checkpoints import Checkpoints, Resumption
from orchestrator.checkpointing.training_state import TrainingState
from orchestrator.contracts.algorithm_spec import RewardKlSpec
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec, BatchSpec
from orchestrator.contracts.messages import EventMessage
from orchestrator.contracts.rollout import PromptSource, Reporter
from orchestrator.contracts.rollout_spec import FilterSpec, ZeroVariancePolicy
from orchestrator.reporting.stopwatch import Stopwatch
from orchestrator.rollouts.advantages import Estimate
from orchestrator.rollouts.group_filter import EmptyDecision, decide_when_empty
from orchestrator.rollouts.iteration_events import carried_event, skipped_event
from orchestrator.rollouts.iteration_record import CutIteration, IterationRecorder
from orchestrator.rollouts.rollout_counts import NO_ROLLOUTS, count_rollouts
from orchestrator.rollouts.rollout_round import RolledOut, Roller
from orchestrator.step_runner import PhaseGoal, StepRunner, StopRequestedError
from orchestrator.train_items import TrainItem, num_rollouts, rollout_items, with_advantages
from orchestrator.warm_start import WarmStart
from trainer.contracts.metric import Metric
from trainer.contracts.span import Activity

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
    estimate: Estimate
    """From rewards to advantages."""
    reward_kl: RewardKlSpec | None
    """What is taken from the rewards first; None: nothing."""
    batch: BatchSpec
    filter_spec: FilterSpec
    rollouts_per_iteration: int

    def steps_left(self) -> Sequence[int] | None:
        """By iteration, the steps from there to the end, as far as they can be known."""
        return steps_left(
            self.batch,
            iterations=self.iterations,
            rollouts_per_iteration=self.rollouts_per_iteration,
            keeps_all=self.filter_spec.zero_variance is ZeroVariancePolicy.INCLUDE,
        )


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
        source: PromptSource,
        checkpoints: Checkpoints,
        recorder: IterationRecorder,
    ) -> None:
        self._warm_start = warm_start
        self._goal = goal
        self._plan = plan
        self._roller = roller
        self._steps = steps
        self._reporter = reporter
        self._source = source
        self._checkpoints = checkpoints
        self._recorder = recorder
        steps.before_pause = checkpoints.settle
        self._steps_left = plan.steps_left()
        self._adaptive = AdaptiveSize(plan.batch) if isinstance(plan.batch, AdaptiveBatchSpec) else None
        self._position = BatchPosition()
        self._waiting: list[TrainItem] = []
        self._num_empty = self._num_skipped = 0

    def run(self) -> Outcome:
        """Train to the end, from where an earlier attempt stopped or from the start.

        Raises:
            NothingToTrainError: too many iterations in a row without a surviving group.
            TrainerError, EngineError: a part cannot go on.
        """
        try:
            first = self._first_iteration()
            self._steps.restart_clock()
            for iteration in range(first, self._plan.iterations):
                self._iterate(iteration)
                self._checkpoints.save_if_due(self._state(iteration + 1), self._waiting)
            self._checkpoints.save(self._state(self._plan.iterations), self._waiting)
            self._checkpoints.settle()
        except StopRequestedError as stop:
            _log.info("%s", stop)
            self._checkpoints.settle()
            return Outcome.STOPPED
        return Outcome.SUCCEEDED

    @property
    def remark(self) -> str | None:
        """What the reader of a run that succeeded should know of it; None: nothing."""
        if not self._num_skipped:
            return None
        return (
            f"finished; {self._num_skipped} of {self._plan.iterations} iterations trained nothing: the filter left no "
            "rollout, or too few for a step"
        )

    def _first_iteration(self) -> int:
        """Come to where reinforcement begins or goes on; returns the iteration that is next."""
        resumption = self._checkpoints.resume()
        if resumption is not None and resumption.state.phase is self._goal.phase:
            self._go_on(resumption)
            return resumption.state.iteration
        if self._warm_start is not None:
            self._warm_start.run(resumption)
        self._steps.begin(self._goal)
        self._steps.push_weights()
        if self._warm_start is not None:
            self._checkpoints.save(self._state(0))
        return 0

    def _go_on(self, resumption: Resumption) -> None:
        state = resumption.state
        self._steps.resume(
            self._goal,
            directory=resumption.directory,
            num_steps=state.num_steps,
            policy_version=state.policy_version,
        )
        self._steps.push_weights()
        self._source.go_to(state.source)
        self._position, self._waiting = state.batch, list(resumption.waiting)
        self._num_empty, self._num_skipped = state.num_empty, state.num_skipped
        if isinstance(self._plan.batch, AdaptiveBatchSpec):
            self._adaptive = AdaptiveSize(self._plan.batch, state.controller)

    def _state(self, next_iteration: int) -> TrainingState:
        return TrainingState(
            phase=self._goal.phase,
            iteration=next_iteration,
            num_steps=self._steps.num_steps,
            policy_version=self._steps.policy_version,
            source=self._source.position(),
            batch=self._position,
            controller=None if self._adaptive is None else self._adaptive.state,
            num_empty=self._num_empty,
            num_skipped=self._num_skipped,
        )

    def _iterate(self, iteration: int) -> None:
        """One round of generate and train."""
        since = self._steps.time.stopwatch()
        self._tell_activity(iteration, f"generating {self._plan.rollouts_per_iteration} rollouts")
        rolled = self._roller.roll(iteration, num_empty_before=self._num_empty)
        fresh, metrics = self._made_of(rolled)
        with self._steps.time.phase("schedule", Activity.SCHEDULE):
            done = self._cut(fresh, iteration, rolled)
        self._waiting = [done.items[i] for i in done.cut.carried]
        if done.cut.steps:
            self._train_or_tell(done, metrics, since)
        failure = None if done.cut.steps else self._train_nothing(done)
        self._reporter.iteration(self._recorder.message(done, since))
        if failure is not None:
            raise failure

    def _made_of(self, rolled: RolledOut) -> tuple[list[TrainItem], dict[str, Metric]]:
        """What the kept rollouts give to train, and what is to be told of them."""
        scored, cost = self._steps.score(rollout_items(rolled.filtered.kept))
        with self._steps.time.phase("schedule", Activity.SCHEDULE):
            items, taken = with_advantages(scored, self._plan.estimate, kl=self._plan.reward_kl)
        return self._recorder.mark(items, rolled.groups), rolled.metrics() | cost | taken

    def _cut(self, fresh: list[TrainItem], iteration: int, rolled: RolledOut) -> CutIteration:
        waited = [replace(item, age=item.age + 1) for item in self._waiting]
        items = waited + fresh
        shapes = [item.shape for item in items]
        cut = cut_into_steps(
            shapes,
            self._plan.batch,
            position=self._position,
            is_last_iteration=iteration + 1 == self._plan.iterations,
            decided_size=None if self._adaptive is None else self._adaptive.size,
        )
        counts = count_rollouts(
            shapes,
            cut,
            num_generated=rolled.num_generated,
            num_filtered=len(rolled.filtered.filtered),
            num_carried_in=num_rollouts(waited),
        )
        return CutIteration(
            iteration=iteration,
            rolled=rolled,
            items=items,
            cut=cut,
            counts=counts,
            first_step=self._steps.num_steps,
        )

    def _train_or_tell(self, done: CutIteration, metrics: Mapping[str, Metric], since: Stopwatch) -> None:
        """Train the steps of an iteration. Where the server ends the run before the last, tell how far it came."""
        try:
            self._train(done, metrics)
        except StopRequestedError:
            num_steps = self._steps.num_steps - done.first_step
            self._reporter.iteration(self._recorder.message(done.stopped_after(num_steps), since))
            raise

    def _train(self, done: CutIteration, of_rollouts: Mapping[str, Metric]) -> None:
        """Train the steps of an iteration. The first one tells of the rollouts, the last one pushes the weights."""
        steps = done.cut.steps
        self._num_empty = 0
        self._tell_activity(done.iteration, f"training {len(steps)} steps on {sum(map(len, steps))} samples")
        for k, indices in enumerate(steps):
            items = [done.items[i] for i in indices]
            trained = self._steps.train(items, iteration=done.iteration)
            self._position = self._position.after(len(items))
            decision, metrics = (None, {}) if self._adaptive is None else self._adaptive.observe(trained)
            if k == 0:
                metrics |= of_rollouts
            if k + 1 == len(steps):
                metrics |= self._steps.push_weights()
            self._steps.report(
                trained,
                metrics=metrics,
                counts=done.counts if k == 0 else NO_ROLLOUTS,
                decision=decision,
            )

    def _train_nothing(self, done: CutIteration) -> NothingToTrainError | None:
        """Tell of an iteration that gives no step: weights and LR position stay. Too many empty ones end the run."""
        self._steps.restart_clock()
        if done.rolled.filtered.kept and done.counts.num_carried_out:
            self._num_empty = 0
            self._tell(carried_event(done.iteration, done.rolled, done.counts, at=datetime.now(UTC)))
            return None
        decision = decide_when_empty(
            num_refills=self._plan.filter_spec.max_refills,
            num_empty_before=self._num_empty,
            filter_spec=self._plan.filter_spec,
        )
        self._num_empty += 1
        self._num_skipped += 1
        skipped = skipped_event(done.iteration, done.rolled, done.counts, at=datetime.now(UTC))
        self._tell(skipped)
        if decision is not EmptyDecision.FAIL:
            return None
        return NothingToTrainError(
            f"{self._num_empty} iterations in a row gave nothing to train, and filter.max_consecutive_empty is "
            f"{self._plan.filter_spec.max_consecutive_empty}. The last one: {skipped.message}"
        )

    def _tell(self, event: EventMessage) -> None:
        _log.warning(event.message)
        self._reporter.event(event)

    def _tell_activity(self, iteration: int, doing: str) -> None:
        left = self._steps_left
        self._reporter.activity(
            f"iteration {iteration} of {self._plan.iterations}: {doing}",
            num_steps=self._steps.num_steps,
            total_steps=None if left is None else self._steps.num_steps + left[iteration],
        )
