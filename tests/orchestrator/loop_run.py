"""A training loop on fakes, for tests of what it does and of what a later attempt makes of its checkpoints."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.checkpointing.checkpoints import Checkpoints
from orchestrator.contracts.algorithm_spec import AlgorithmSpec, RewardKlSpec
from orchestrator.contracts.batch_spec import AllBatchSpec, BatchSpec
from orchestrator.contracts.messages import EventMessage, Phase, StepMessage
from orchestrator.contracts.recording_spec import RecordingSpec
from orchestrator.contracts.rollout_spec import FilterSpec, RolloutSpec, ZeroVariancePolicy
from orchestrator.contracts.warm_start_spec import SftWarmStartSpec
from orchestrator.loop import IterationPlan, Outcome, TrainingLoop
from orchestrator.rollouts.advantages import dr_grpo
from orchestrator.rollouts.iteration_record import IterationRecorder
from orchestrator.rollouts.rollout_round import Roller
from orchestrator.step_runner import PhaseGoal, StepRunner
from orchestrator.warm_start import HeldOutEval, WarmStart
from tests.orchestrator.factories import COST_MODEL, step_geometry
from tests.orchestrator.fakes import (
    RIGHT,
    WRONG,
    FakeEngine,
    FakeReporter,
    FakeReward,
    FakeSource,
    FakeTrainer,
    decode,
    encode_answer,
    pieces,
)
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import SftLossSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.trainer_spec import PhaseSpec

Answers = Callable[[int], Sequence[int]]
GROUP_SIZE = 4
NUM_PROMPTS = 8


def all_wrong(i: int) -> Sequence[int]:
    return WRONG


def all_right(i: int) -> Sequence[int]:
    return RIGHT


def mixed(i: int) -> Sequence[int]:
    """One rollout of each group is right."""
    return RIGHT if i % GROUP_SIZE == 0 else WRONG


def mixed_in_first(count: int) -> Answers:
    return lambda i: mixed(i) if i < count * GROUP_SIZE else WRONG


class Run:
    """A loop on fakes, and what it left behind."""

    root: Path
    """Where runs keep their checkpoints; set for each test."""

    def __init__(
        self,
        answers: Iterable[Answers],
        *,
        iterations: int = 2,
        batch: BatchSpec | None = None,
        filter_spec: FilterSpec | None = None,
        warm_start: SftWarmStartSpec | None = None,
        checkpoints: Path | None = None,
        every_steps: int = 1_000,
        token_cap: int = 64,
        algorithm: AlgorithmSpec | None = None,
        recording: RecordingSpec | None = None,
    ) -> None:
        """checkpoints: where they are kept; None: in a directory of the run's own."""
        self.trainer, self.reporter, self.source = FakeTrainer(), FakeReporter(), FakeSource()
        self.engine = FakeEngine(iter(answers))
        self.steps = StepRunner(
            trainer=self.trainer,
            engine=self.engine,
            reporter=self.reporter,
            geometry=step_geometry(dp_size=2, token_cap=token_cap),
            cost_model=COST_MODEL,
        )
        self.checkpoints = Checkpoints(
            CheckpointStore(checkpoints or Path(tempfile.mkdtemp(dir=self.root)), keep_last=2, keep_every=None),
            trainer=self.trainer,
            reporter=self.reporter,
            every_steps=every_steps,
            write_model_files=lambda directory: None,
            time=self.steps.time,
        )
        filter_spec = filter_spec or FilterSpec()
        rollout = RolloutSpec(group_size=GROUP_SIZE, max_new_tokens=4)
        self.loop = TrainingLoop(
            warm_start=None if warm_start is None else self._warm_start(warm_start),
            goal=_rl_goal(algorithm or AlgorithmSpec(), filter_spec.zero_variance),
            plan=IterationPlan(
                iterations=iterations,
                estimate=dr_grpo,
                reward_kl=algorithm.kl if algorithm and isinstance(algorithm.kl, RewardKlSpec) else None,
                batch=batch or AllBatchSpec(type="all"),
                filter_spec=filter_spec,
                rollouts_per_iteration=GROUP_SIZE * NUM_PROMPTS,
            ),
            roller=Roller(
                source=self.source,
                engine=self.engine,
                reward=FakeReward(),
                decode=decode,
                rollout=rollout,
                num_prompts=NUM_PROMPTS,
                filter_spec=filter_spec,
                seed=1,
                obey=self.steps.obey,
                time=self.steps.time,
            ),
            steps=self.steps,
            reporter=self.reporter,
            source=self.source,
            checkpoints=self.checkpoints,
            recorder=IterationRecorder(recording or RecordingSpec(), pieces=pieces),
        )

    def _warm_start(self, spec: SftWarmStartSpec) -> WarmStart:
        return WarmStart(
            spec,
            goal=_warm_start_goal(),
            source=self.source,
            encode_answer=encode_answer,
            steps=self.steps,
            held_out=HeldOutEval(
                source=self.source,
                engine=self.engine,
                reward=FakeReward(),
                decode=decode,
                num_prompts=spec.eval_prompts,
                max_new_tokens=4,
                time=self.steps.time,
            ),
            reporter=self.reporter,
            checkpoints=self.checkpoints,
        )

    def run(self) -> Outcome:
        return self.loop.run()

    @property
    def events(self) -> list[EventMessage]:
        """What the loop told, but for its checkpoints."""
        return [event for event in self.reporter.events if event.kind not in ("checkpoint", "resumed")]

    @property
    def reported(self) -> list[StepMessage]:
        return self.reporter.steps

    def column(self, name: str) -> list[Any]:
        return [getattr(message, name) for message in self.reported]


def _warm_start_goal() -> PhaseGoal:
    return PhaseGoal(
        phase=Phase.WARM_START,
        spec=PhaseSpec(optimizer=OptimizerSpec(lr=1e-3), loss=SftLossSpec()),
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
        constant_tokens=4,
    )


def _rl_goal(algorithm: AlgorithmSpec, zero_variance: ZeroVariancePolicy) -> PhaseGoal:
    return PhaseGoal(
        phase=Phase.RL,
        spec=PhaseSpec(
            optimizer=OptimizerSpec(lr=1e-3),
            loss=algorithm.policy_loss(temperature=1.0),
            keeps_reference=algorithm.needs_reference,
        ),
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
        constant_tokens=4,
        needs_trainer_log_probs=algorithm.needs_trainer_log_probs,
        zero_variance=zero_variance,
    )


def warm_start_spec(**changes: Any) -> SftWarmStartSpec:
    fields: dict[str, Any] = {
        "type": "sft",
        "max_steps": 6,
        "until_reward": 0.5,
        "eval_every": 2,
        "eval_prompts": 4,
        "batch": {"type": "fixed", "global_batch_size": 4},
    }
    return SftWarmStartSpec.model_validate(fields | changes)
