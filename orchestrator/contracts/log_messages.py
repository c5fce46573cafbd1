"""What the processes of an attempt write to their logs, as the driver passes it on.

    LogsBatch    driver → POST /api/v1/runs/{id}/logs:batch

Each process writes a file of its own; a line is known by its source and its number in that file, so that sending it
twice is harmless. Logs do not go through the journal: the files are on disk already.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, Field, PositiveInt, StrictInt

from trainer.contracts.text_model import Name, TextModel


class LogLevel(StrEnum):
    """How much a line matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogLine(TextModel):
    """One line, or one traceback, of one process."""

    source: Name
    """Who wrote it: `driver`, `rank 0`, `engine 1`."""
    number: Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
    """Counts from 0 within the source and attempt."""
    at: AwareDatetime
    level: LogLevel
    text: Annotated[str, Field(max_length=20_000)]


class LogsBatch(TextModel):
    """Lines of one attempt, taken all or none. Lines that are there already are counted as duplicates."""

    attempt: PositiveInt
    lines: Annotated[tuple[LogLine, ...], Field(min_length=1, max_length=2000)]
