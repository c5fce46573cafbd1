"""A run as it goes on, until it ends. Asks once a second; a server that restarts is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from server.client.problem import NoServerError
from server.runs.schemas import Run

_POLL_S = 1.0
_PATIENCE_S = 60.0
"""How long a server may be away before watching gives up."""


class RunReader(Protocol):
    """What watching needs of a client."""

    def show(self, run: str) -> Run: ...


def changes(client: RunReader, run: str, sleep: Callable[[float], None] = time.sleep) -> Iterator[Run]:
    """The run now and after each change, up to its end. Raises SwellError when the server stays away."""
    seen: Run | None = None
    heard_at = time.monotonic()
    while seen is None or not seen.state.is_terminal:
        try:
            current = client.show(seen.id if seen else run)
        except NoServerError:
            if seen is None or time.monotonic() - heard_at > _PATIENCE_S:
                raise
            sleep(_POLL_S)
            continue
        heard_at = time.monotonic()
        if current != seen:
            seen = current
            yield current
        if not current.state.is_terminal:
            sleep(_POLL_S)
