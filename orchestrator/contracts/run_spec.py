"""The RunSpec: all that a user says of a run. Nested by owner, choices told apart by `type`, unknown fields refused.

The server validates it at submit and stores it; the driver gets it back unchanged. Nothing mutates a spec.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from trainer.contracts.certificate import LossAggregation
from trainer.contracts.spec import (
    ClippedLossSpec,
    ModelSpec,
    NonNegativeFraction,
    OptimizerSpec,
    ParallelismSpec,
    PhaseSpec,
    ScratchModelSpec,
    SftLossSpec,
    TrainerSpec,
    check_layout,
)
from trainer.contracts.text_model import FieldError, TextModel

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class ReasoningGymTask(TextModel):
    """One procedural task of reasoning_gym."""

    name: Name
    """Name of the task in reasoning_gym, e.g. `spell_backward`."""
    weight: PositiveFloat = 1.0
    """How often the task is drawn, relative to the others."""
    config: dict[str, Any] = {}
    """Arguments of the task's own configuration, e.g. `{min_word_len: 4}`."""


class ReasoningGymDataSpec(TextModel):
    """Prompts drawn without end from procedural tasks; the stream depends on the run's seed alone."""

    type: Literal["reasoning_gym"]
    tasks: Annotated[tuple[ReasoningGymTask, ...], Field(min_length=1)]
    """The tasks that prompts are drawn from."""
    rollout_batch_size: PositiveInt
    """Prompts of one iteration."""
    max_prompt_tokens: PositiveInt = 256
    """A longer prompt is left out and counted."""
    lower_case: bool = False
    """Prompts and answers in lower case: fewer symbols for a very small model to learn."""


class TransformersEngineSpec(TextModel):
    """Generation with transformers, in processes of the run itself."""

    type: Literal["transformers"] = "transformers"
    replicas: PositiveInt = 1
    """Engines that share the prompts of an iteration."""


class RolloutSpec(TextModel):
    """How prompts become rollouts."""

    engine: TransformersEngineSpec = TransformersEngineSpec()
    """What generates."""
    group_size: PositiveInt
    """Rollouts of each prompt, compared with each other for their advantages."""
    max_new_tokens: PositiveInt
    """Longest response; a rollout that reaches it is truncated."""
    temperature: PositiveFloat = 1.0
    """Of sampling during training; measurements are greedy."""
    mode: Literal["sync"] = "sync"
    """`sync`: generate, then train, in turns."""


class ReasoningGymRewardSpec(TextModel):
    """The task's own verifier. Only a right answer scores: its partial credit can be had without solving anything."""

    type: Literal["reasoning_gym"]
    weight: PositiveFloat = 1.0
    """Its share when several rewards are added."""
    threshold: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """A verifier's score below it counts as 0, one at or above it as 1."""


class ZeroVariancePolicy(StrEnum):
    """What happens to a group whose rewards are all equal, so that no advantage is left in it."""

    EXCLUDE = "exclude"
    """Left out of the step: neither trained nor counted in any denominator."""
    INCLUDE = "include"
    """Trained with advantage 0 and counted in the denominators."""


class FilterSpec(TextModel):
    """Which groups are trained."""

    zero_variance: ZeroVariancePolicy = ZeroVariancePolicy.EXCLUDE
    """What happens to a group whose rewards are all equal."""
    max_refills: Annotated[int, Field(ge=0)] = 0
    """How often an iteration in which no group survived is rolled out again, with new prompts."""
    max_consecutive_empty: PositiveInt = 5
    """After so many iterations in a row without a surviving group the run fails and says so."""


class Remainder(StrEnum):
    """What happens to rollouts that do not fill the last step of an iteration."""

    PARTIAL = "partial"
    """They make a smaller last step."""
    DROP = "drop"
    """They are not trained; each step's record counts them."""


class FixedBatchSpec(TextModel):
    """Steps of an equal number of rollouts."""

    type: Literal["fixed"]
    global_batch_size: PositiveInt
    """Rollouts of a step."""
    remainder: Remainder = Remainder.PARTIAL
    """What happens to the rollouts that are left over."""


class AllBatchSpec(TextModel):
    """One step for each iteration, as large as what the filter left."""

    type: Literal["all"]
    remainder: Literal[Remainder.PARTIAL] = Remainder.PARTIAL
    """Nothing can be left over."""


BatchSpec: TypeAlias = Annotated[FixedBatchSpec | AllBatchSpec, Field(discriminator="type")]


class Balance(StrEnum):
    """What is made equal between data-parallel ranks."""

    COST = "cost"
    """Predicted time: a part linear and a part quadratic in length, from the model's own FLOPs."""
    TOKENS = "tokens"
    NONE = "none"
    """Nothing: micro-batches are dealt out in turn."""


class ScheduleSpec(TextModel):
    """How a step is cut into micro-batches."""

    token_cap: PositiveInt
    """Most tokens of a micro-batch. A longer sample runs alone and is counted."""
    balance: Balance = Balance.COST
    """What is made equal between ranks."""


class SftWarmStartSpec(TextModel):
    """Supervised steps on the task's own answers before reinforcement begins. They end by reward, not by count."""

    type: Literal["sft"]
    max_steps: PositiveInt
    """The warm start ends here even if the reward was not reached."""
    until_reward: Annotated[float, Field(gt=0.0, le=1.0)]
    """Mean reward of greedy answers to held-out prompts at which the warm start ends."""
    eval_every: PositiveInt = 10
    """Steps between two measurements of that reward."""
    eval_prompts: PositiveInt = 128
    """Held-out prompts of one measurement."""
    batch: FixedBatchSpec
    """Size of the supervised steps."""
    optimizer: OptimizerSpec | None = None
    """None: the run's own optimizer. Reinforcement begins with a fresh optimizer either way."""


class AdvantageEstimator(StrEnum):
    """How rewards of a group become advantages."""

    GRPO = "grpo"
    """Reward minus the group's mean, divided by the group's standard deviation (Shao et al. 2024, section 4.1.2)."""
    DR_GRPO = "dr_grpo"
    """Reward minus the group's mean, undivided (Liu et al. 2025): easy and hard prompts weigh alike."""


class AlgorithmSpec(TextModel):
    """Advantages and the policy loss."""

    advantage: AdvantageEstimator = AdvantageEstimator.GRPO
    """How rewards become advantages."""
    loss: Literal["clipped"] = "clipped"
    """The policy loss."""
    clip_low: NonNegativeFraction = 0.2
    """The probability ratio is clipped below 1 − clip_low."""
    clip_high: Annotated[float, Field(ge=0.0)] = 0.28
    """The probability ratio is clipped above 1 + clip_high."""
    loss_aggregation: LossAggregation = LossAggregation.ROLLOUT_MEAN
    """How the token losses of a step become one number."""
    constant_tokens: PositiveInt | None = None
    """Divisor of `loss_aggregation: constant`; None: rollout.max_new_tokens."""


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
        loss = ClippedLossSpec(
            clip_low=self.algorithm.clip_low,
            clip_high=self.algorithm.clip_high,
            temperature=self.rollout.temperature,
        )
        return PhaseSpec(optimizer=self.optimizer, loss=loss)

    @property
    def constant_tokens(self) -> int:
        return self.algorithm.constant_tokens or self.rollout.max_new_tokens

    @model_validator(mode="after")
    def _blocks_fit(self) -> Self:
        check_layout(self.model, self.parallelism)
        self._check_positions()
        self._check_groups()
        self._check_batch_plan()
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

    def _check_batch_plan(self) -> None:
        batch = self.batch
        if not isinstance(batch, FixedBatchSpec) or batch.remainder is not Remainder.DROP:
            return
        given, needed = self.rollouts_per_iteration, batch.global_batch_size
        if given >= needed:
            return
        prompts = -(-needed // self.rollout.group_size)
        group_size = -(-needed // self.data.rollout_batch_size)
        raise FieldError(
            f"The plan is impossible: a step needs {needed} rollouts, an iteration gives {given}, and "
            f"batch.remainder=drop trains no smaller step. Lower batch.global_batch_size to {given}, or raise "
            f"data.rollout_batch_size to {prompts} or rollout.group_size to {group_size}.",
            "batch.global_batch_size",
            "data.rollout_batch_size",
            "rollout.group_size",
        )
