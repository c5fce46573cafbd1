"""Which attempt a step is shown from: a later attempt supersedes the steps from its first one on.

attempt 1   0 ─────────────── 199 ··· 212       ··· superseded
attempt 2                     200 ──────── 300

Iterations follow the same rule: an attempt begins between two of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, false, or_, select, update

from server.database.tables import attempts, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Steps of one attempt from `first` up to, but not including, `end` (None: without end)."""

    attempt: int
    first: int
    end: int | None
    superseded: bool


def segments_of(first_steps: Iterable[tuple[int, int]]) -> list[Segment]:
    """The segments of a run, given (attempt, first step) of each attempt that recorded any.

    First the current view, by step; then what is superseded.

    >>> [(s.attempt, s.first, s.end) for s in segments_of([(1, 0), (2, 200)])]
    [(1, 0, 200), (2, 200, None), (1, 200, None)]
    """
    current: list[Segment] = []
    superseded: list[Segment] = []
    end: int | None = None
    for attempt, first in sorted(first_steps, reverse=True):
        if end is None or first < end:
            current.append(Segment(attempt=attempt, first=first, end=end, superseded=False))
        if end is not None:
            superseded.append(Segment(attempt=attempt, first=max(first, end), end=None, superseded=True))
        end = first if end is None else min(end, first)
    return current[::-1] + superseded[::-1]


def run_segments(connection: Connection, run_key: int) -> list[Segment]:
    """The segments of a run, as `segments_of` has them."""
    rows = connection.execute(
        select(attempts.c.number, attempts.c.first_step).where(
            attempts.c.run_key == run_key, attempts.c.first_step.is_not(None)
        )
    )
    return segments_of((row.number, row.first_step) for row in rows)


def current_view(segments: Iterable[Segment]) -> list[Segment]:
    return [segment for segment in segments if not segment.superseded]


def in_segments(run_key: int, segments: Iterable[Segment]) -> ColumnElement[bool]:
    """A condition on `steps`: the step is in one of these segments of that run."""
    return _in_segments(steps, "step", run_key, segments)


def iteration_segments(connection: Connection, run_key: int) -> list[Segment]:
    """As `run_segments`, in iterations: `first` and `end` are numbers of iterations."""
    rows = connection.execute(
        select(attempts.c.number, attempts.c.first_iteration).where(
            attempts.c.run_key == run_key, attempts.c.first_iteration.is_not(None)
        )
    )
    return segments_of((row.number, row.first_iteration) for row in rows)


def in_iteration_segments(table: Table, run_key: int, segments: Iterable[Segment]) -> ColumnElement[bool]:
    """A condition on a table of iterations or of what belongs to them: the row is in one of these segments."""
    return _in_segments(table, "iteration", run_key, segments)


def note_first_iteration(connection: Connection, run_key: int, attempt: int, iteration: int) -> None:
    """Keep the first iteration that an attempt recorded anything of: from there on it supersedes older attempts."""
    mine = (attempts.c.run_key == run_key, attempts.c.number == attempt)
    later = attempts.c.first_iteration.is_(None) | (attempts.c.first_iteration > iteration)
    connection.execute(update(attempts).where(*mine, later).values(first_iteration=iteration))


def _in_segments(table: Table, column: str, run_key: int, segments: Iterable[Segment]) -> ColumnElement[bool]:
    number = table.c[column]
    terms = [
        and_(
            table.c.attempt == segment.attempt,
            number >= segment.first,
            *([] if segment.end is None else [number < segment.end]),
        )
        for segment in segments
    ]
    return and_(table.c.run_key == run_key, or_(false(), *terms))
