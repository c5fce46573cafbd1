"""Trains one step after the other: schedule it, hand it to the trainer, push the new weights, report it.

    items ──► (log-probs) ──► schedule ──► trainer ──► record ──► (push, eval) ──► report
                                 ▲                        │
                                 └── calibration, if any ◄┘

The warm start and the loop both train through it: the one place that counts steps and policy versions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from orchestrator.contracts.checkpoint_spec import LimitsSpec
from orchestrator.contracts.messages import BatchDecision, Phase
from orchestrator.contracts.rollout import Reporter, RolloutEngine
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.costs.calibration import CostCalibration
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.reporting.timekeeper import Timekeeper
from orchestrator.rollouts.rollout_counts import NO_ROLLOUTS, RolloutCounts
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.skipped_steps import SkippedSteps
from orchestrator.step_figures import step_figures
from orchestrator.step_message import TrainedStep, step_message
from orchestrator.train_items import TrainItem, scoring_samples, train_samples, with_log_probs
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.metric import Metric, mean
from trainer.contracts.policy_trainer import LogProbsOf, PolicyTrainer, StepRecord
from trainer.contracts.schedule import DpSchedule, StepSchedule
from trainer.contracts.span import Activity
from trainer.contracts.trainer_spec import PhaseSpec

_log = logging.getLogger(__name__)


class StopRequestedError(Exception):
    """The server wants the attempt to end. Raised between steps, never within one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseGoal:
    """What a stretch of training optimises, and how the losses of its steps add up."""

    phase: Phase
    spec: PhaseSpec
    loss_aggregation: LossAggregation
    constant_tokens: int
    needs_trainer_log_probs: bool = False
    """Whether the trainer recomputes the log-probs of what was rolled out."""
    zero_variance: ZeroVariancePolicy | None = None
    """Whether groups without variance count in the denominators; None: its steps have no groups."""


class StepRunner:
    """The steps of one attempt."""

    def __init__(
        self,
        *,
        trainer: PolicyTrainer,
        engine: RolloutEngine,
        reporter: Reporter,
        geometry: StepGeometry,
        cost_model: CostModel,
        calibration: CostCalibration | None = None,
        max_consecutive_skips: int = LimitsSpec().max_consecutive_skips,
        time: Timekeeper | None = None,
    ) -> None:
        """cost_model: from the model's shape. calibration: learns a better one from the steps, where that is wanted.

        time: the attempt's; None makes one, which others find as `time`.
        """
        self._trainer = trainer
        self._engine = engine
        self._reporter = reporter
        self._geometry = geometry
        self._cost_model = cost_model
        self._calibration = calibration
        self._skipped = SkippedSteps(max_consecutive=max_consecutive_skips)
        self._goal: PhaseGoal | None = None
        self._num_steps = 0
        self._policy_version = 0
        self.time = time or Timekeeper()
        self.before_pause: Callable[[], None] = lambda: None
        """Called before a pause, which may be long: what is under way should be brought to an end."""
        self._since = self.time.stopwatch()

    @property
    def num_steps(self) -> int:
        """Steps trained so far, over all phases."""
        return self._num_steps

    @property
    def policy_version(self) -> int:
        """Number of weight updates so far."""
        return self._policy_version

    def obey(self) -> None:
        """Wait as long as the server wants a pause; raise StopRequestedError if it wants the attempt to end."""
        if self._reporter.pause_requested:
            with self.time.standing_still():
                self.before_pause()
                self._reporter.wait_while_paused()
        if self._reporter.stop_requested:
            raise StopRequestedError(f"asked to stop after {self._num_steps} steps")

    def restart_clock(self) -> None:
        """What the time until now was spent on belongs to no step. Otherwise a step begins where the last one ended."""
        self._since = self.time.stopwatch()

    def begin(self, goal: PhaseGoal) -> None:
        """Optimise something else from now on: optimizer and LR position begin anew."""
        self._trainer.start_phase(goal.spec)
        self._goal = goal

    def resume(self, goal: PhaseGoal, *, directory: Path, num_steps: int, policy_version: int) -> None:
        """Go on within a phase from a checkpoint of an earlier attempt."""
        self.begin(goal)
        self._trainer.load(str(directory))
        self._num_steps, self._policy_version = num_steps, policy_version

    def score(self, items: Sequence[TrainItem]) -> tuple[list[TrainItem], dict[str, Metric]]:
        """Rolled-out items with the log-probs that the phase wants beside the engine's; returns what that cost too.

        To be called before the first step that follows their generation, while the weights are those that made them.
        """
        goal = self._goal
        if goal is None:
            raise RuntimeError("score was called before begin")
        if not items or not (goal.needs_trainer_log_probs or goal.spec.keeps_reference):
            return list(items), {}
        stopwatch = self.time.stopwatch()
        with self.time.phase("schedule", Activity.SCHEDULE):
            plan = self._plan([item.shape for item in items], goal, self._present_cost_model())
            samples = scoring_samples(items)
        ask = partial(self._trainer.log_probs, samples=samples, schedule=plan)
        with self.time.phase("log_probs"):
            scored = with_log_probs(
                items,
                trainer=ask(of=LogProbsOf.POLICY) if goal.needs_trainer_log_probs else None,
                reference=ask(of=LogProbsOf.REFERENCE) if goal.spec.keeps_reference else None,
            )
        return scored, {"perf/log_probs_s": mean(stopwatch.seconds, 1)}

    def train(self, items: Sequence[TrainItem], *, iteration: int) -> TrainedStep:
        """Train one step on all the items. It is to be reported before the next one begins."""
        self.obey()
        if self._goal is None:
            raise RuntimeError("train was called before begin")
        cost_model = self._present_cost_model()
        with self.time.phase("schedule", Activity.SCHEDULE):
            plan = self._plan([item.shape for item in items], self._goal, cost_model)
            samples = train_samples(items, plan.certificates[0])
        with self.time.phase("train"):
            [record] = self._trainer.train(samples=samples, schedule=plan)
        trained = self._trained(items, iteration, self._goal, cost_model, plan.step(0), record)
        self._num_steps += 1
        self._policy_version += record.status.moved_weights
        return trained

    def _trained(
        self,
        items: Sequence[TrainItem],
        iteration: int,
        goal: PhaseGoal,
        cost_model: CostModel,
        schedule: StepSchedule,
        record: StepRecord,
    ) -> TrainedStep:
        """Plan and outcome of a step together. The calibration learns from them."""
        lengths = [item.shape.num_tokens for item in items]
        if self._calibration is not None:
            self._calibration.add(schedule, lengths=lengths, micro_batch_s=record.micro_batch_s)
        return TrainedStep(
            step=self._num_steps,
            phase=goal.phase,
            iteration=iteration,
            policy_version=self._policy_version,
            items=tuple(items),
            schedule=schedule,
            figures=step_figures(schedule, lengths=lengths, geometry=self._geometry, cost_model=cost_model),
            record=record,
            lr_unit=goal.spec.optimizer.lr_schedule.unit,
            geometry=self._geometry,
            zero_variance=goal.zero_variance,
            model_flops=float(self._cost_model.costs(lengths).sum()),
        )

    def _present_cost_model(self) -> CostModel:
        return self._cost_model if self._calibration is None else self._calibration.model(self._cost_model)

    def _plan(self, shapes: Sequence[SampleShape], goal: PhaseGoal, cost_model: CostModel) -> DpSchedule:
        """One step of all the samples. Steps go to the trainer one by one, so that a wish to stop waits for one."""
        return build_dp_schedule(
            shapes,
            [range(len(shapes))],
            geometry=self._geometry,
            cost_model=cost_model,
            loss_aggregation=goal.loss_aggregation,
            constant_tokens=goal.constant_tokens,
        )

    def push_weights(self) -> dict[str, Metric]:
        """Let the engine generate with the policy as it is now; returns what that cost."""
        stopwatch = self.time.stopwatch()
        with self.time.phase("push"):
            self._engine.push_weights(self._trainer.weights(), self._policy_version)
        self.time.add(self._engine.take_spans())
        return {"perf/push_s": mean(stopwatch.seconds, 1)}

    def report(
        self,
        trained: TrainedStep,
        *,
        metrics: Mapping[str, Metric],
        counts: RolloutCounts = NO_ROLLOUTS,
        decision: BatchDecision | None = None,
    ) -> None:
        """Tell the server about a step, which took as long as it is since the one before it was told.

        Raises:
            TooManySkipsError: it was one too many without a finite loss and gradient.
        """
        since, seconds = self._since, self._since.seconds
        self.time.add(self._trainer.take_spans())
        message = step_message(
            trained,
            started_at=since.started_at,
            seconds=seconds,
            counts=counts,
            metrics=metrics,
            decision=decision,
            timeline=self.time.timeline(since, seconds),
        )
        self.restart_clock()
        self._reporter.step(message)
        event = self._skipped.observe(trained, at=datetime.now(UTC))
        if event is not None:
            _log.warning(event.message)
            self._reporter.event(event)
            self._skipped.check()
