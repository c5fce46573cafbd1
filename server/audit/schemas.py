"""What the API says of changes."""

from __future__ import annotations

from datetime import datetime

from server.page import Page
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


class AuditPage(Page[AuditEvent]):
    """Changes, newest first."""

    next_before: int | None
    """The `before` of the next page; null on the last one."""
