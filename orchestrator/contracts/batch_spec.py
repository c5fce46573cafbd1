"""How many rollouts make a step: the batch policies, told apart by `type`. A block of the RunSpec.

A size in a policy counts rollouts; the record's `global_batch_size` counts the samples that they turned out to have.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, PositiveInt, model_validator

from trainer.contracts.text_model import FieldError, TextModel


class Remainder(StrEnum):
    """What happens to rollouts that do not fill the last step of an iteration."""

    PARTIAL = "partial"
    """They make a smaller last step."""
    CARRY = "carry"
    """They wait for the next iteration, and come first there; after the last iteration they make a smaller step."""
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


class TokenBudgetBatchSpec(TextModel):
    """Steps of about equal numbers of tokens: a step closes where one more rollout would lead further from the budget.

    A rollout is never split, and a step has at least one.
    """

    type: Literal["token_budget"]
    tokens_per_step: PositiveInt
    """Tokens of a step, prompts included."""
    remainder: Remainder = Remainder.PARTIAL
    """What happens to the rollouts that stay clearly below the budget."""


class RampBatchSpec(TextModel):
    """Steps that grow from `start` to `end` rollouts in equal increments, as Megatron-LM's `--rampup-batch-size` does.

    From 8 to 16 in increments of 8 over 160 samples: 20 steps of 8, then 16.
    """

    type: Literal["ramp"]
    start: PositiveInt
    """Rollouts of the first steps."""
    end: PositiveInt
    """Rollouts of the steps after the ramp."""
    increment: PositiveInt
    """By how many rollouts the size grows at a time."""
    over_samples: PositiveInt
    """Samples over which it grows, counted from the first step of reinforcement."""
    remainder: Remainder = Remainder.PARTIAL
    """What happens to the rollouts that are left over."""

    @model_validator(mode="after")
    def _reaches_its_end(self) -> Self:
        if self.end < self.start:
            raise FieldError(f"end={self.end} must be at least start={self.start}", "end", "start")
        if (self.end - self.start) % self.increment:
            raise FieldError(
                f"end − start = {self.end - self.start} is not a multiple of increment={self.increment}; "
                "change one of them",
                "increment",
                "start",
                "end",
            )
        return self


class ExplicitSize(TextModel):
    """One row of a table of sizes."""

    from_step: Annotated[int, Field(ge=0)]
    """First step of reinforcement, counted from 0, that has this size."""
    global_batch_size: PositiveInt
    """Rollouts of a step, until the next row."""


class ExplicitBatchSpec(TextModel):
    """Sizes written down step by step, or as a table. The last one stays."""

    type: Literal["explicit"]
    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=100_000)] | None = None
    """Rollouts of each step. Give this or `table`."""
    table: Annotated[tuple[ExplicitSize, ...], Field(min_length=1, max_length=10_000)] | None = None
    """Rows in ascending order, the first from step 0. Give this or `sizes`."""
    remainder: Remainder = Remainder.PARTIAL
    """What happens to the rollouts that are left over."""

    @model_validator(mode="after")
    def _is_one_table(self) -> Self:
        if (self.sizes is None) == (self.table is None):
            raise FieldError("give either sizes or table", "sizes", "table")
        if self.table is None:
            return self
        if self.table[0].from_step != 0:
            raise FieldError(f"the first row begins at step {self.table[0].from_step}; it must begin at 0", "table")
        for before, after in pairwise(self.table):
            if after.from_step <= before.from_step:
                raise FieldError(
                    f"from_step={after.from_step} follows from_step={before.from_step}; rows must ascend", "table"
                )
        return self


class AdaptiveMode(StrEnum):
    """What the measured noise scale does."""

    ADVISE = "advise"
    """It is recorded and shown with the size that it proposes; sizes stay as they are."""
    CONTROL = "control"
    """It sets the size of the next iterations' steps."""


class AdaptiveBatchSpec(TextModel):
    """The measured gradient noise scale (McCandlish et al. 2018, appendix A) proposes how many rollouts make a step.

    It needs two data-parallel ranks or more: their gradients, of fewer samples each, are held against the whole one.
    """

    type: Literal["adaptive"]
    mode: AdaptiveMode = AdaptiveMode.ADVISE
    """What the proposal does."""
    global_batch_size: PositiveInt | None = None
    """Rollouts of a step while nothing is decided; none: everything that the iteration kept. `control` needs it."""
    min_size: PositiveInt
    """No proposal is below it, in rollouts."""
    max_size: PositiveInt
    """No proposal is above it, in rollouts."""
    multiplier: Annotated[float, Field(gt=0.0)] = 1.0
    """The proposal is the noise scale times this."""
    smoothing: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.95
    """Decay of the moving averages behind the noise scale, per step; numerator and denominator apart."""
    warmup_steps: Annotated[int, Field(ge=0)] = 20
    """Measured steps before the first proposal."""
    hysteresis: Annotated[float, Field(ge=0.0)] = 0.25
    """A proposal changes the size only where it differs from it by more than this fraction."""
    patience: PositiveInt = 3
    """Steps in a row that must ask for a change in the same direction."""
    remainder: Remainder = Remainder.PARTIAL
    """What happens to the rollouts that are left over."""

    @model_validator(mode="after")
    def _bounds_hold(self) -> Self:
        if self.max_size < self.min_size:
            raise FieldError(
                f"max_size={self.max_size} must be at least min_size={self.min_size}", "max_size", "min_size"
            )
        size = self.global_batch_size
        if self.mode is AdaptiveMode.CONTROL and size is None:
            raise FieldError("mode=control needs the global_batch_size to begin with", "global_batch_size", "mode")
        if self.mode is AdaptiveMode.CONTROL and size is not None and not self.min_size <= size <= self.max_size:
            raise FieldError(
                f"global_batch_size={size} must lie between min_size={self.min_size} and max_size={self.max_size}",
                "global_batch_size",
                "min_size",
                "max_size",
            )
        return self


BatchSpec: TypeAlias = Annotated[
    FixedBatchSpec | AllBatchSpec | TokenBudgetBatchSpec | RampBatchSpec | ExplicitBatchSpec | AdaptiveBatchSpec,
    Field(discriminator="type"),
]
