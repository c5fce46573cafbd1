"""A run as it goes on, until it ends. Asks once a second; a server that restarts is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from server.client.patience import POLL_S, Patience
from server.runs.schemas import Run


class RunReader(Protocol):
    """What watching needs of a client."""

    def show(self, run: str) -> Run: ...


def changes(client: RunReader, run: str, sleep: Callable[[float], None] = time.sleep) -> Iterator[Run]:
    """The run now and after each change, up to its end. Raises SwellError when the server stays away."""
    seen = client.show(run)
    yield seen
    patience, again = Patience(sleep), partial(client.show, seen.id)
    while not seen.state.is_terminal:
        sleep(POLL_S)
        current = patience.ask(again)
        if current != seen:
            seen = current
            yield current
