"""All SQL that reads log lines.

Lines of one run and level lie next to each other in an index, in the order of arrival: a page merges one stretch of it
for each level. Where a source, an attempt or a text narrows it further, a page looks at a bounded part of each stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from orchestrator.contracts.log_messages import LogLevel
from server.database.tables import attempts, log_lines
from server.logs.schemas import LogLineOut, LogPage
from server.logs.storing import SEVERITIES

_MAX_SEARCHED = 25_000
"""Lines of each level that one page looks at when it searches."""
_MAX_SOURCES = 2_000
_LEVELS = {severity: level for level, severity in SEVERITIES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which lines to tell. What is None does not matter."""

    level: LogLevel
    """At least."""
    source: str | None = None
    attempt: int | None = None
    q: str | None = None
    """Part of the text, whatever its case."""

    @property
    def severities(self) -> range:
        return range(SEVERITIES[self.level], len(SEVERITIES))

    @property
    def searches(self) -> bool:
        return any(value is not None for value in (self.source, self.attempt, self.q))


def older(connection: Connection, run_key: int, filter_: LogFilter, *, before: int | None, limit: int) -> LogPage:
    """The newest lines below an id, or of all."""
    newest = newest_line(connection, run_key) if before is None else before - 1
    floor = _edge(connection, run_key, filter_, start=newest, backwards=True) if filter_.searches else None
    rows = _lines(connection, run_key, filter_, (floor or 0, newest), limit=limit + 1, backwards=True)
    shown = rows[:limit][::-1]
    if len(rows) > limit:
        next_before: int | None = shown[0].id
    else:
        next_before = floor
    return _page(connection, run_key, shown, next_before=next_before, next_after=newest, has_newer=before is not None)


def newer(connection: Connection, run_key: int, filter_: LogFilter, *, after: int, limit: int) -> LogPage:
    """The oldest lines above an id."""
    newest = newest_line(connection, run_key)
    edge = _edge(connection, run_key, filter_, start=after + 1, backwards=False) if filter_.searches else None
    rows = _lines(
        connection, run_key, filter_, (after + 1, newest if edge is None else edge), limit=limit + 1, backwards=False
    )
    shown = rows[:limit]
    if len(rows) > limit:
        next_after, has_newer = shown[-1].id, True
    else:
        next_after, has_newer = max(after, newest if edge is None else edge), edge is not None
    before = shown[0].id if shown else after + 1
    return _page(connection, run_key, shown, next_before=before, next_after=next_after, has_newer=has_newer)


def newest_line(connection: Connection, run_key: int) -> int:
    """The id of a run's newest line; 0 without any."""
    ends = (
        connection.scalar(
            select(func.max(log_lines.c.id)).where(log_lines.c.run_key == run_key, log_lines.c.severity == severity)
        )
        for severity in _LEVELS
    )
    return max(end or 0 for end in ends)


def sources(connection: Connection, run_key: int) -> tuple[str, ...]:
    """Who wrote any line of a run: one look into the index for each, however many lines there are."""
    numbers = connection.execute(select(attempts.c.number).where(attempts.c.run_key == run_key)).scalars().all()
    found: set[str] = set()
    for number in numbers:
        name: str | None = ""
        while len(found) < _MAX_SOURCES:
            name = connection.scalar(
                select(log_lines.c.source)
                .where(log_lines.c.run_key == run_key, log_lines.c.attempt == number, log_lines.c.source > name)
                .order_by(log_lines.c.source)
                .limit(1)
            )
            if name is None:
                break
            found.add(name)
    return tuple(sorted(found))


def _edge(connection: Connection, run_key: int, filter_: LogFilter, *, start: int, backwards: bool) -> int | None:
    """The id up to which every level may be searched from `start` on; None: up to the end."""
    edges = []
    for severity in filter_.severities:
        query = select(log_lines.c.id).where(log_lines.c.run_key == run_key, log_lines.c.severity == severity)
        query = query.where(log_lines.c.id <= start if backwards else log_lines.c.id >= start)
        order = log_lines.c.id.desc() if backwards else log_lines.c.id
        edge = connection.scalar(query.order_by(order).offset(_MAX_SEARCHED).limit(1))
        edges += [] if edge is None else [edge]
    return (max(edges) if backwards else min(edges)) if edges else None


def _lines(
    connection: Connection,
    run_key: int,
    filter_: LogFilter,
    between: tuple[int, int],
    *,
    limit: int,
    backwards: bool,
) -> list[Row[Any]]:
    """Up to `limit` lines with ids in a range, both ends included; the first of them in the direction."""
    rows: list[Row[Any]] = []
    for severity in filter_.severities:
        query = select(log_lines).where(
            log_lines.c.run_key == run_key,
            log_lines.c.severity == severity,
            log_lines.c.id.between(*between),
            *_conditions(filter_),
        )
        order = log_lines.c.id.desc() if backwards else log_lines.c.id
        rows += connection.execute(query.order_by(order).limit(limit)).all()
    return sorted(rows, key=lambda row: row.id, reverse=backwards)[:limit]


def _conditions(filter_: LogFilter) -> list[ColumnElement[bool]]:
    terms: list[ColumnElement[bool]] = []
    if filter_.source is not None:
        terms.append(log_lines.c.source == filter_.source)
    if filter_.attempt is not None:
        terms.append(log_lines.c.attempt == filter_.attempt)
    if filter_.q is not None:
        terms.append(log_lines.c.text.icontains(filter_.q, autoescape=True))
    return terms


def _page(
    connection: Connection,
    run_key: int,
    rows: Sequence[Row[Any]],
    *,
    next_before: int | None,
    next_after: int,
    has_newer: bool,
) -> LogPage:
    items = tuple(
        LogLineOut(
            id=row.id,
            attempt=row.attempt,
            source=row.source,
            number=row.number,
            at=row.at,
            level=_LEVELS[row.severity],
            text=row.text,
        )
        for row in rows
    )
    return LogPage(
        items=items,
        next_before=next_before,
        next_after=next_after,
        has_newer=has_newer,
        sources=sources(connection, run_key),
    )
