"""How a step is cut into micro-batches and dealt to ranks. A block of the RunSpec."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import PositiveInt, model_validator

from trainer.contracts.text_model import FieldError, TextModel


class Balance(StrEnum):
    """What is made equal between data-parallel ranks."""

    COST = "cost"
    """Predicted time: a part linear and a part quadratic in length, from the model's own FLOPs."""
    TOKENS = "tokens"
    NONE = "none"
    """Nothing: micro-batches are dealt out in turn."""


class Packer(StrEnum):
    """How samples are put into micro-batches under the token cap."""

    FIRST_FIT_DECREASING = "first_fit_decreasing"
    """Longest first, each into the first micro-batch with room: few micro-batches."""
    FIRST_FIT = "first_fit"
    """In order of arrival, each into the first micro-batch with room: more micro-batches, order kept."""


class Barrier(StrEnum):
    """Where data-parallel ranks wait for each other."""

    STEP = "step"
    """Once, when the step's gradients are added."""
    MICRO_BATCH = "micro_batch"
    """At every micro-batch, as expert parallelism and sharded parameters make them wait. The trainer here has neither
    yet: its steps are then cut for such a barrier, and idle time is predicted as if it were there."""


class CostSource(StrEnum):
    """What predicts the time of a micro-batch."""

    SHAPE = "shape"
    """The model's own FLOPs. The schedule depends on the samples alone, so a repeated run repeats it."""
    MEASURED = "measured"
    """A regression on the measured times of earlier steps, once there are enough. It follows the machine's mood."""


class ScheduleSpec(TextModel):
    """How a step is cut into micro-batches."""

    token_cap: PositiveInt | None = None
    """Most tokens of a micro-batch. A longer sample runs alone and is counted. Give this or `micro_batch_size`."""
    micro_batch_size: PositiveInt | None = None
    """Samples of a micro-batch, whatever their length. Give this or `token_cap`."""
    packer: Packer = Packer.FIRST_FIT_DECREASING
    """How samples are put under the token cap."""
    balance: Balance = Balance.COST
    """What is made equal between ranks."""
    barrier: Barrier = Barrier.STEP
    """Where ranks wait for each other."""
    cost: CostSource = CostSource.SHAPE
    """What predicts the time of a micro-batch."""

    @model_validator(mode="after")
    def _is_cut_one_way(self) -> Self:
        if (self.token_cap is None) == (self.micro_batch_size is None):
            raise FieldError("give either token_cap or micro_batch_size", "token_cap", "micro_batch_size")
        return self
