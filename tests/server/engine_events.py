"""What an engine is asked to do while a test looks: how many statements, how many commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def counted(engine: Engine, name: str) -> Iterator[list[str]]:
    """What happens meanwhile: the statements, or a line for each other event."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        seen.append(str(arguments[2]) if len(arguments) > 2 else name)

    event.listen(engine, name, note)
    try:
        yield seen
    finally:
        event.remove(engine, name, note)
