"""What the API says of changes."""

from __future__ import annotations

from datetime import datetime

from trainer.contracts.text_model import TextModel


class AuditEvent(TextModel):
    """A change that was asked for and not refused."""

    id: int
    at: datetime
    actor: str
    """Name of the token."""
    operation: str
    """As in the API document, e.g. `cancelRun`."""
    path: str
    status: int
    request_id: str


class AuditPage(TextModel):
    """Changes, newest first."""

    items: tuple[AuditEvent, ...]
    next_before: int | None
    """The `before` of the next page; null on the last one."""
