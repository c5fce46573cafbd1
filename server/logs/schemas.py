"""What the API says of logs."""

from __future__ import annotations

from datetime import datetime

from orchestrator.contracts.log_messages import LogLevel
from server.page import Page
from trainer.contracts.text_model import TextModel


class LogLineOut(TextModel):
    """One line, or one traceback, of one process."""

    id: int
    """Grows with arrival, over all attempts."""
    attempt: int
    source: str
    """Who wrote it: `driver`, `rank 0`, `engine 1`."""
    number: int
    """Counts from 0 within the source and attempt: a gap is a line that has not come."""
    at: datetime
    level: LogLevel
    text: str


class LogPage(Page[LogLineOut]):
    """Lines in the order of their arrival."""

    next_before: int | None
    """The `before` of the page with older lines; null: there are none. One page looks at so many lines only: it may be
    empty and yet not be the last."""
    next_after: int
    """The `after` of the page with newer lines, whether or not there are any yet."""
    has_newer: bool
    """Whether there may be newer lines that match already."""
    sources: tuple[str, ...]
    """Everybody who wrote any line, by name."""
