"""What the API says of checkpoints."""

from __future__ import annotations

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from server.page import Page


class CheckpointOut(CheckpointMessage):
    """A checkpoint as its driver last told of it."""

    attempt: int
    superseded: bool
    """Whether a later attempt went another way before this step: nothing that the run shows follows from it."""


class CheckpointPage(Page[CheckpointOut]):
    """Checkpoints, the highest step first."""

    next_cursor: str | None
