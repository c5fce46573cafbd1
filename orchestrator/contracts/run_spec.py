"""The RunSpec: all that a user says of a run. Nested by owner, choices told apart by `type`, unknown fields refused.

The server validates it at submit and stores it; the driver gets it back unchanged. Nothing mutates a spec.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, PositiveInt, ValidationError, model_validator

from orchestrator.contracts.algorithm_spec import AlgorithmSpec
from orchestrator.contracts.batch_plan import Supply, check_batch_plan
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec, BatchSpec
from orchestrator.contracts.checkpoint_spec import CheckpointSpec, LimitsSpec
from orchestrator.contracts.data_spec import ReasoningGymDataSpec
from orchestrator.contracts.field_places import with_places
from orchestrator.contracts.recording_spec import RecordingSpec
from orchestrator.contracts.rollout_spec import FilterSpec, ReasoningGymRewardSpec, RolloutSpec, ZeroVariancePolicy
from orchestrator.contracts.schedule_spec import Packer, ScheduleSpec
from orchestrator.contracts.tracking_spec import TrackingSpec
from orchestrator.contracts.warm_start_spec import SftWarmStartSpec
from trainer.contracts.loss_spec import SftLossSpec
from trainer.contracts.model_spec import ModelSpec, ScratchModelSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec, check_layout
from trainer.contracts.text_model import FieldError, Name, TextModel
from trainer.contracts.trainer_spec import PhaseSpec, TrainerSpec


class RunSpec(TextModel):
    """One run."""

    name: Name
    """How people call the run; need not be unique."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Of weights, prompts and sampling."""
    iterations: PositiveInt
    """Rounds of generate and train after the warm start."""
    model: ModelSpec
    """What is trained."""
    data: ReasoningGymDataSpec
    """Where prompts come from."""
    rollout: RolloutSpec
    """How prompts become rollouts."""
    reward: Annotated[tuple[ReasoningGymRewardSpec, ...], Field(min_length=1)]
    """What judges a response; several are added by weight."""
    filter: FilterSpec = FilterSpec()
    """Which groups are trained."""
    warm_start: SftWarmStartSpec | None = None
    """Supervised steps before reinforcement; none unless said."""
    algorithm: AlgorithmSpec = AlgorithmSpec()
    """Advantages and loss."""
    batch: BatchSpec
    """How many rollouts make a step."""
    schedule: ScheduleSpec
    """How a step is cut into micro-batches."""
    optimizer: OptimizerSpec
    """Of the reinforcement steps."""
    parallelism: ParallelismSpec = ParallelismSpec()
    """Layout of the trainer; one rank unless said."""
    checkpoint: CheckpointSpec = CheckpointSpec()
    """When the run saves its state."""
    recording: RecordingSpec = RecordingSpec()
    """How much of its rollouts is recorded."""
    tracking: Annotated[tuple[TrackingSpec, ...], Field(max_length=8)] = ()
    """Where else its steps are told."""
    limits: LimitsSpec = LimitsSpec()
    """What the run may use up before it fails."""
    tags: dict[Name, Annotated[str, Field(max_length=200)]] = {}
    """Words to find the run by."""

    @property
    def rollouts_per_iteration(self) -> int:
        return self.data.rollout_batch_size * self.rollout.group_size

    @property
    def max_sample_tokens(self) -> int:
        return self.data.max_prompt_tokens + self.rollout.max_new_tokens

    @property
    def trainer(self) -> TrainerSpec:
        return TrainerSpec(model=self.model, parallelism=self.parallelism, seed=self.seed)

    @property
    def warm_start_phase(self) -> PhaseSpec | None:
        if self.warm_start is None:
            return None
        return PhaseSpec(optimizer=self.warm_start.optimizer or self.optimizer, loss=SftLossSpec())

    @property
    def rl_phase(self) -> PhaseSpec:
        return PhaseSpec(
            optimizer=self.optimizer,
            loss=self.algorithm.policy_loss(temperature=self.rollout.temperature),
            keeps_reference=self.algorithm.needs_reference,
            measure_noise=isinstance(self.batch, AdaptiveBatchSpec),
        )

    @property
    def constant_tokens(self) -> int:
        return self.algorithm.constant_tokens or self.rollout.max_new_tokens

    @model_validator(mode="wrap")
    @classmethod
    def _misplaced_fields_are_led_home(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            raise with_places(error, cls) from None

    @model_validator(mode="after")
    def _blocks_fit(self) -> Self:
        check_layout(self.model, self.parallelism)
        self._check_positions()
        self._check_groups()
        self._check_schedule()
        self._check_batch()
        return self

    def _check_positions(self) -> None:
        if not isinstance(self.model, ScratchModelSpec):
            return
        if self.max_sample_tokens > self.model.max_position_embeddings:
            raise FieldError(
                f"data.max_prompt_tokens + rollout.max_new_tokens = {self.max_sample_tokens} exceeds "
                f"model.max_position_embeddings={self.model.max_position_embeddings}; lower one of the first two "
                "or raise the last",
                "data.max_prompt_tokens",
                "rollout.max_new_tokens",
                "model.max_position_embeddings",
            )

    def _check_groups(self) -> None:
        if self.rollout.group_size == 1 and self.filter.zero_variance is ZeroVariancePolicy.EXCLUDE:
            raise FieldError(
                "rollout.group_size=1 gives every group zero variance, and filter.zero_variance=exclude drops them "
                "all; raise rollout.group_size to 2 or more",
                "rollout.group_size",
                "filter.zero_variance",
            )

    def _check_schedule(self) -> None:
        schedule = self.schedule
        if schedule.micro_batch_size is not None and schedule.packer is not Packer.FIRST_FIT_DECREASING:
            raise FieldError(
                f"schedule.packer={schedule.packer} packs under a token cap, and schedule.micro_batch_size="
                f"{schedule.micro_batch_size} cuts by count; leave schedule.packer out, or give schedule.token_cap",
                "schedule.packer",
                "schedule.micro_batch_size",
                "schedule.token_cap",
            )

    def _check_batch(self) -> None:
        if isinstance(self.batch, AdaptiveBatchSpec) and self.parallelism.dp == 1:
            raise FieldError(
                "batch.type=adaptive compares the gradients of data-parallel ranks, and parallelism.dp=1 leaves "
                "nothing to compare; raise parallelism.dp to 2 or more, or choose another batch.type",
                "parallelism.dp",
                "batch.type",
            )
        if isinstance(self.batch, AdaptiveBatchSpec) and self.parallelism.overlap_grad_reduce:
            raise FieldError(
                "batch.type=adaptive measures each rank's gradient before it is added to the others', which "
                "parallelism.overlap_grad_reduce=true does while it is still computed; leave one of them out",
                "parallelism.overlap_grad_reduce",
                "batch.type",
            )
        supply = Supply(
            iterations=self.iterations,
            prompts=self.data.rollout_batch_size,
            group_size=self.rollout.group_size,
            max_sample_tokens=self.max_sample_tokens,
        )
        check_batch_plan(self.batch, supply)
