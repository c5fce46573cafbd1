"""Reading logs from the end, and following them as they grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from orchestrator.contracts.log_messages import LogLevel
from server.client.patience import POLL_S, Patience
from server.logs.schemas import LogLineOut, LogPage
from server.runs.schemas import Run

_MAX_LINES = 2000
"""Of one page."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which lines."""

    run: str
    source: str | None = None
    level: LogLevel = LogLevel.DEBUG
    """At least."""
    text: str | None = None
    attempt: int | None = None


class LogServer(Protocol):
    """What reading logs needs of a client."""

    def show(self, run: str) -> Run: ...

    def log_page(
        self, query: LogQuery, *, before: int | None = None, after: int | None = None, limit: int = 200
    ) -> LogPage: ...


def newest_lines(server: LogServer, query: LogQuery, *, tail: int) -> list[LogLineOut]:
    """The newest lines, at most `tail`, oldest first."""
    return _newest(server, query, tail)[0]


def follow(
    server: LogServer, query: LogQuery, *, tail: int, sleep: Callable[[float], None] = time.sleep
) -> Iterator[LogLineOut]:
    """The newest lines, and each new one, until the run has ended. Raises SwellError when the server stays away."""
    lines, after = _newest(server, query, tail)
    yield from lines
    patience = Patience(sleep)
    while True:
        # First the state: what a run that has ended wrote is there by then.
        has_ended = patience.ask(lambda: server.show(query.run)).state.is_terminal
        page = patience.ask(partial(server.log_page, query, after=after, limit=_MAX_LINES))
        yield from page.items
        after = page.next_after
        if page.has_newer:
            continue
        if has_ended:
            return
        sleep(POLL_S)


def _newest(server: LogServer, query: LogQuery, tail: int) -> tuple[list[LogLineOut], int]:
    """The newest lines, and the id after which newer ones come."""
    page = server.log_page(query, limit=max(1, min(tail, _MAX_LINES)))
    after = page.next_after
    lines = list(page.items)
    while len(lines) < tail and page.next_before is not None:
        page = server.log_page(query, before=page.next_before, limit=min(tail - len(lines), _MAX_LINES))
        lines = [*page.items, *lines]
    return lines[len(lines) - min(tail, len(lines)) :], after
