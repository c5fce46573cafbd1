"""Parameters of a request, and answers that come page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from server.client.connection import Connection, Params


def given(**params: Any) -> list[tuple[str, str]]:
    """Parameters that are there, as texts.

    >>> given(a=1, b=None, c=True)
    [('a', '1'), ('c', 'true')]
    """
    return [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in params.items()
        if value is not None
    ]


def all_items(
    connection: Connection, page: type[Any], path: str, params: Params, *, at: tuple[str, Any], then: str
) -> Iterator[Any]:
    """The items of all pages. at: parameter of the position, and the first one. then: field of the next one."""
    name, position = at
    while True:
        found = connection.ask(page, "GET", path, params=[*params, *given(**{name: position})])
        yield from found.items
        position = getattr(found, then)
        if position is None:
            return
