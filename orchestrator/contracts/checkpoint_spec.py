"""When a run saves its state, and how often it may begin again. Blocks of the RunSpec."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from trainer.contracts.text_model import TextModel


class CheckpointSpec(TextModel):
    """Checkpoints hold all that a run goes on from: weights, optimizer, LR and data position, waiting rollouts.

    Besides the steps named here, one is written when reinforcement begins and one when the run ends.
    """

    every_steps: PositiveInt = 50
    """Save at the end of the first iteration that is this many steps after the last checkpoint."""
    keep_last: PositiveInt = 2
    """So many of the newest stay."""
    keep_every: PositiveInt | None = None
    """Checkpoints of steps that are a multiple of it stay for good; none unless said."""


class LimitsSpec(TextModel):
    """What a run may use up before it fails."""

    max_restarts: Annotated[int, Field(ge=0, le=100)] = 3
    """How often the run may go on from its last checkpoint after a process of it died."""
    max_consecutive_skips: PositiveInt = 5
    """After so many steps in a row without a finite loss and gradient the run fails; each step names its samples."""
