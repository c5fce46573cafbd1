"""All SQL that reads the books of iterations, each from the newest attempt that ran it."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, func, select

from server.database.tables import iterations
from server.rollouts.schemas import IterationBooks, RecordedPart
from server.steps.lineage import current_view, in_iteration_segments, iteration_segments

_PLAIN = tuple(name for name in IterationBooks.model_fields if name not in ("filtered", "dropped"))


def in_view(connection: Connection, run_key: int) -> ColumnElement[bool]:
    """A condition on `iterations`: the run shows it."""
    return in_iteration_segments(iterations, run_key, current_view(iteration_segments(connection, run_key)))


def page(
    connection: Connection, run_key: int, *, first: int, limit: int
) -> tuple[tuple[IterationBooks, ...], int | None]:
    """Iterations from `first` on, ascending, and where the next page begins."""
    query = select(iterations).where(in_view(connection, run_key), iterations.c.iteration >= first)
    rows = connection.execute(query.order_by(iterations.c.iteration).limit(limit + 1)).all()
    return tuple(map(books_of, rows[:limit])), rows[limit].iteration if len(rows) > limit else None


def between(connection: Connection, run_key: int, first: int, end: int) -> list[IterationBooks]:
    """Iterations from `first` up to `end`, ascending."""
    query = select(iterations).where(
        in_view(connection, run_key), iterations.c.iteration >= first, iterations.c.iteration < end
    )
    return [books_of(row) for row in connection.execute(query.order_by(iterations.c.iteration))]


def newest(connection: Connection, run_key: int, *, limit: int) -> list[IterationBooks]:
    """The newest iterations, ascending."""
    query = select(iterations).where(in_view(connection, run_key))
    rows = connection.execute(query.order_by(iterations.c.iteration.desc()).limit(limit)).all()
    return [books_of(row) for row in reversed(rows)]


def count(connection: Connection, run_key: int) -> int:
    return connection.scalar(select(func.count()).select_from(iterations).where(in_view(connection, run_key))) or 0


def recorded_part(connection: Connection, run_key: int) -> RecordedPart:
    row = connection.execute(
        select(
            func.count(),
            func.coalesce(func.sum(iterations.c.num_groups), 0),
            func.coalesce(func.sum(iterations.c.num_recorded_groups), 0),
            func.count(iterations.c.pruned_at),
        ).where(in_view(connection, run_key))
    ).one()
    return RecordedPart(
        num_iterations=row[0],
        num_groups=int(row[1]),
        num_recorded_groups=int(row[2]),
        num_pruned_iterations=row[3],
    )


def books_of(row: Row[Any]) -> IterationBooks:
    return IterationBooks(
        **{name: getattr(row, name) for name in _PLAIN},
        filtered=orjson.loads(row.filtered),
        dropped=orjson.loads(row.dropped),
    )
