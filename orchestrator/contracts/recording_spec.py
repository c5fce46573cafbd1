"""How much of its rollouts a run records. A block of the RunSpec."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeInt

from trainer.contracts.text_model import TextModel


class RecordingSpec(TextModel):
    """What the dashboard can show of rollouts. The books of an iteration count all of them, recorded or not."""

    groups_per_iteration: NonNegativeInt | None = 32
    """So many of an iteration's groups are recorded with their texts, spread evenly over it; null: all."""
    tokens_per_rollout: Annotated[int, Field(ge=0, le=100_000)] = 2048
    """So many of a response's tokens are recorded one by one with their log-probs; 0: none."""
