"""How many rollouts make a step: the batch policies, told apart by `type`. A block of the RunSpec."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PositiveInt

from trainer.contracts.text_model import TextModel


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
