"""What the API says of a run's events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from server.page import Page
from trainer.contracts.text_model import TextModel


class RunEventOut(TextModel):
    """Something that happened to a run: a change of state, or what its driver found worth telling."""

    id: int
    attempt: int | None
    kind: str
    """`run.running` and alike for changes of state; the driver's own word otherwise."""
    at: datetime
    message: str
    data: dict[str, Any]


class RunEventPage(Page[RunEventOut]):
    """Events in the order in which they were recorded."""

    next_after: int | None
    """The `after` of the next page; null on the last one."""
