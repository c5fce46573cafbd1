"""How much SQLite does for a question, in instructions of its virtual machine: the same on every machine, unlike time.

Every row that is looked at takes instructions, whether it is answered or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event

GRAIN = 50
"""A statement is counted in units of so many instructions; a shorter one is not counted."""


class DatabaseWork:
    """Counts what the connections of an engine do from now on."""

    def __init__(self, engine: Engine) -> None:
        self._num_grains = 0
        # Those that are open already do not count.
        engine.pool.dispose()
        event.listen(engine, "connect", self._count)

    def of(self, ask: Callable[[], Any]) -> int:
        """Instructions that a question took. Nobody else may ask meanwhile."""
        before = self._num_grains
        ask()
        return (self._num_grains - before) * GRAIN

    def _count(self, connection: Any, _record: Any) -> None:
        connection.set_progress_handler(self._grain, GRAIN)

    def _grain(self) -> int:
        self._num_grains += 1
        return 0
