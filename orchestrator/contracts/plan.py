"""The geometry that a run would have: what is asked (`PlanRequest`) and what is answered (`RunPlan`).

`orchestrator/planning/` answers; `POST /api/v1/plan` and `swell plan` pass it on; the dashboard draws it before launch.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from orchestrator.contracts.messages import Fraction01, Phase
from orchestrator.contracts.run_spec import RunSpec
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.text_model import Name, TextModel

MAX_LENGTHS = 1_000_000
"""Most lengths of one request; more say nothing new of a distribution."""
Length: TypeAlias = Annotated[int, Field(ge=1, le=2**40)]
"""Tokens of a sample; far more than any model takes, and few enough to add many up."""


class ListedLengths(TextModel):
    """Lengths that are known, e.g. from a file. Drawn from at random, by the run's seed."""

    type: Literal["list"]
    num_tokens: Annotated[tuple[Length, ...], Field(min_length=1, max_length=MAX_LENGTHS)]
    """Tokens of samples, prompt and response together."""


class RunLengths(TextModel):
    """The lengths that an earlier run's samples had."""

    type: Literal["run"]
    run: Name
    """Its id, or the name of the newest run of that name."""


class LognormalLengths(TextModel):
    """A declared distribution. Longer draws are cut at the longest sample that the spec allows."""

    type: Literal["lognormal"]
    mean: Annotated[float, Field(ge=1.0, le=2**40)]
    """Mean of the lengths, in tokens."""
    sigma: Annotated[float, Field(ge=0.0, le=5.0)] = 0.8
    """Standard deviation of their logarithm."""


class ConstantLengths(TextModel):
    """Every sample has as many tokens."""

    type: Literal["constant"]
    num_tokens: Length


Lengths: TypeAlias = Annotated[
    ListedLengths | RunLengths | LognormalLengths | ConstantLengths, Field(discriminator="type")
]


class PlanRequest(TextModel):
    """Which plan is wanted."""

    spec: RunSpec
    lengths: Lengths | None = None
    """None: half of the longest sample that the spec allows on average, lognormal with sigma 0.5."""
    kept_frac: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Share of each iteration's rollouts that the filter is expected to leave."""
    max_scheduled_steps: Annotated[int, Field(ge=1, le=1000)] = 64
    """So many steps, spread over the run, are cut into micro-batches; sizes and LR are told for every step."""


class PlannedGeometry(TextModel):
    """One step, scheduled with the lengths that were assumed. How much of it is padding shows when it is trained."""

    num_tokens: PositiveInt
    num_microbatches: PositiveInt
    """Of each rank, dummies included."""
    real_micro_batches: tuple[NonNegativeInt, ...]
    """By dp_rank, dummies left out."""
    num_dummies: NonNegativeInt
    num_over_cap: NonNegativeInt
    max_micro_batch_tokens: PositiveInt
    predicted_idle_frac: Fraction01
    idle_bound_frac: Fraction01


class PlannedStep(TextModel):
    """One step of reinforcement."""

    step: NonNegativeInt
    """Counts from 0 at the first step of reinforcement: how long a warm start lasts is only known when it ends."""
    iteration: NonNegativeInt
    num_rollouts: PositiveInt
    global_batch_size: PositiveInt
    """Samples; as many as rollouts, as long as a rollout gives one sample."""
    lr: NonNegativeFloat
    """That the step uses."""
    lr_position_before: NonNegativeInt
    lr_position_after: NonNegativeInt
    geometry: PlannedGeometry | None
    """None: sizes and LR only."""


class PlanMaxima(TextModel):
    """What decides over memory, over the steps that were scheduled."""

    max_sample_tokens: PositiveInt
    """Longest sample that the spec allows."""
    max_micro_batch_tokens: PositiveInt
    max_num_microbatches: PositiveInt
    max_global_batch_size: PositiveInt
    max_micro_batch_logits_bytes: PositiveInt | None
    """Largest logits of a micro-batch on one rank, in fp32: tokens × vocabulary / tp × 4; None: vocabulary unknown."""


class RunPlan(TextModel):
    """The geometry that the run would have."""

    phase: Phase = Phase.RL
    steps: tuple[PlannedStep, ...]
    """Every step, or the first `MAX_PLANNED_STEPS` of them."""
    num_steps: NonNegativeInt
    """Of the whole run."""
    num_samples: NonNegativeInt
    num_tokens_expected: NonNegativeInt
    """Samples × mean length."""
    kept_frac: Annotated[float, Field(gt=0.0, le=1.0)] | None
    """Share of the rollouts that the filter was taken to leave; None: the spec leaves all of them in.

    1: sizes are those before the filter, and real steps are at most as large.
    """
    num_dropped: NonNegativeInt
    """Rollouts that `remainder: drop` would leave untrained over the whole run."""
    dp: PositiveInt
    lr_unit: LrUnit
    maxima: PlanMaxima
    mean_predicted_idle_frac: Fraction01
    mean_idle_bound_frac: Fraction01
    assumptions: tuple[str, ...]
    """What was taken for granted, a sentence each: lengths, kept_frac, sizes that only measurement can give."""
    warnings: tuple[str, ...]
    """What is possible and probably not meant, a sentence each, with the field to change."""


MAX_PLANNED_STEPS = 20_000
"""More steps are counted, not listed."""
