"""How a step is cut into micro-batches and dealt to ranks. A block of the RunSpec."""

from __future__ import annotations

from enum import StrEnum

from pydantic import PositiveInt

from trainer.contracts.text_model import TextModel


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
