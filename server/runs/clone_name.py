"""What a clone is called unless it is told otherwise, so that lists tell both apart. Asked when a run is
cloned, and before by the page on which a clone is written.
"""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

from sqlalchemy import Connection, select

from server.database.tables import runs

_MAX_CHARS = 200


def free_clone_name(connection: Connection, name: str) -> str:
    """The next name after a run's own that no run has, deleted ones that can be restored included."""
    stem, _ = _parts(name)
    # A long stem is cut for its number.
    beginning = stem[: _MAX_CHARS - 10]
    taken = connection.scalars(select(runs.c.name).where(runs.c.name.startswith(beginning, autoescape=True)))
    return next_name(name, frozenset(taken))


def next_name(name: str, taken: Container[str] = ()) -> str:
    """The name with the lowest free number above its own.

    >>> next_name("demo"), next_name("demo-2"), next_name("demo", {"demo", "demo-2"})
    ('demo-2', 'demo-3', 'demo-3')
    """
    stem, number = _parts(name)
    following = (f"{stem[: _MAX_CHARS - len(f'-{k}')]}-{k}" for k in count(number + 1))
    return next(candidate for candidate in following if candidate not in taken)


def _parts(name: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?s)(.*?)-([1-9]\d{0,3})", name)
    return (found[1], int(found[2])) if found else (name, 1)
