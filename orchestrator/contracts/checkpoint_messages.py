"""What a driver tells of its checkpoints.

CheckpointsBatch    driver → POST /api/v1/runs/{id}/checkpoints:batch, through the journal
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from orchestrator.contracts.messages import Phase, StepNumber
from trainer.contracts.text_model import TextModel


class CheckpointMessage(TextModel):
    """A checkpoint that is whole, or one that has been removed since. A later message of the same step replaces it."""

    step: StepNumber
    """Steps trained before it: a run that goes on from it trains this step next."""
    iteration: NonNegativeInt
    """Comes next, within the phase."""
    phase: Phase
    policy_version: NonNegativeInt
    at: AwareDatetime
    """When it was committed, or removed."""
    directory: Annotated[str, Field(max_length=4000)]
    """On the machine that holds the run's directory."""
    num_bytes: NonNegativeInt
    write_s: NonNegativeFloat
    """From the copy of the state to the commit; training goes on meanwhile."""
    removed: bool = False


class CheckpointsBatch(TextModel):
    """Checkpoints of one attempt, taken all or none."""

    attempt: PositiveInt
    checkpoints: Annotated[tuple[CheckpointMessage, ...], Field(min_length=1, max_length=1000)]
