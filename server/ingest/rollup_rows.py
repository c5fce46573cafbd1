"""All SQL that keeps the rollups: stretches of steps that are over are summed up when the next one begins.

    steps ──► 64 steps ──► 512 ──► 4096      up to the attempt's `rolled_up_to`; what follows is read point by point

A step that arrives late takes `rolled_up_to` back to its stretch. Only so much is summed up in one transaction that
nobody waits: what is left follows with the next steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select, update

from server.database.engine import float_columns, upsert_raw
from server.database.tables import PointKind, attempts, metric_names, points, rollups, steps
from server.history.buckets import Floats
from server.history.rollup import Rollups, roll_up
from server.history.series import COLUMN_NUMBERS, column_reduction
from server.history.stretches import COARSEST, FINEST, ROLLUP_SIZES
from trainer.contracts.metric import Reduction

_MAX_STEPS_AT_ONCE = COARSEST
_FEWEST_STEPS_AT_ONCE = 256
"""To sum up costs much the same for one stretch as for four; so few points are as quick to read as their sums."""
_KEY = ("run_key", "series", "attempt", "num_steps", "bucket")
_MEASURED = tuple(field.name for field in fields(Rollups) if field.name not in ("series", "bucket"))
_WHOLE = {name for name in _MEASURED if name.endswith("_step") or name == "num_points"}


def may_sum_up(rolled_up_to: int, *, first_new: int, newest: int) -> bool:
    """Whether `keep_rollups` may have anything to do after steps from `first_new` on were stored; it asks for more."""
    return first_new < rolled_up_to or newest // FINEST * FINEST - rolled_up_to >= _FEWEST_STEPS_AT_ONCE


def keep_rollups(connection: Connection, run_key: int, attempt: int, *, first_new: int) -> None:
    """Bring the rollups of an attempt up to date after steps from `first_new` on were stored."""
    mine = (attempts.c.run_key == run_key, attempts.c.number == attempt)
    known = connection.execute(select(attempts.c.rolled_up_to).where(*mine)).scalar_one()
    begin = min(known, first_new // FINEST * FINEST)
    # Two questions: one for both would look at every step in between.
    there = _steps_of(run_key, attempt, begin, None)
    ends = (select(end(steps.c.step)).where(*there).scalar_subquery() for end in (func.max, func.min))
    newest, oldest = connection.execute(select(*ends)).one()
    # Numbers may jump: between the steps there is nothing to sum up.
    first = max(begin, oldest // FINEST * FINEST)
    end = min(newest // FINEST * FINEST, first + _MAX_STEPS_AT_ONCE)
    is_late = begin < known
    if end - first < (FINEST if is_late else _FEWEST_STEPS_AT_ONCE):
        end = begin
    else:
        _roll_up_steps(connection, run_key, attempt, first, end)
    done = max(end, begin)
    if done != known:
        connection.execute(update(attempts).where(*mine).values(rolled_up_to=done))


def _roll_up_steps(connection: Connection, run_key: int, attempt: int, first: int, end: int) -> None:
    reductions = {COLUMN_NUMBERS[name]: column_reduction(name) for name in COLUMN_NUMBERS}
    metrics = connection.execute(select(metric_names).where(metric_names.c.run_key == run_key)).all()
    reductions |= {row.id: Reduction(row.reduction) for row in metrics}
    parts = _points(connection, [row.id for row in metrics], attempt, first, end)
    parts = _joined([parts, *_columns(connection, run_key, attempt, first, end)])
    finest = roll_up(parts, FINEST, reductions)
    _store(connection, run_key, attempt, FINEST, finest)
    for size, larger in pairwise(ROLLUP_SIZES):
        first, end = first // larger * larger, end // larger * larger
        if end <= first:
            return
        parts = _stored(connection, run_key, list(reductions), attempt, size, first, end)
        _store(connection, run_key, attempt, larger, roll_up(parts, larger // size, reductions))


def _steps_of(run_key: int, attempt: int, first: int, end: int | None) -> list[Any]:
    terms = [steps.c.run_key == run_key, steps.c.attempt == attempt, steps.c.step >= first]
    return terms if end is None else [*terms, steps.c.step < end]


def _points(connection: Connection, metric_ids: list[int], attempt: int, first: int, end: int) -> Rollups:
    query = select(points.c.metric_id, points.c.step, points.c.value, points.c.kind, points.c.weight).where(
        points.c.metric_id.in_(metric_ids),
        points.c.attempt == attempt,
        points.c.step >= first,
        points.c.step < end,
        points.c.kind != int(PointKind.NOT_MEASURED),
    )
    series, step, value, kind, weight = float_columns(connection, query, 5)
    return Rollups.of_points(series=series, step=step, value=value, kind=kind, weight=weight)


def _columns(connection: Connection, run_key: int, attempt: int, first: int, end: int) -> Iterator[Rollups]:
    """The columns of the steps themselves, each of which weighs 1."""
    query = select(steps.c.step, *(steps.c[name] for name in COLUMN_NUMBERS))
    step, *columns = float_columns(
        connection, query.where(*_steps_of(run_key, attempt, first, end)), 1 + len(COLUMN_NUMBERS)
    )
    for number, column in zip(COLUMN_NUMBERS.values(), columns, strict=True):
        known = ~np.isnan(column)
        size = int(known.sum())
        yield Rollups.of_points(
            series=np.full(size, float(number)),
            step=step[known],
            value=column[known],
            kind=np.full(size, float(PointKind.FINITE)),
            weight=np.ones(size),
        )


def _stored(
    connection: Connection, run_key: int, series_ids: list[int], attempt: int, size: int, first: int, end: int
) -> Rollups:
    # One list of all series: with any other condition on them SQLite looks through all that the run has.
    numbers = select(rollups.c.series, rollups.c.bucket, *(rollups.c[name] for name in _MEASURED)).where(
        rollups.c.run_key == run_key,
        rollups.c.series.in_(series_ids),
        rollups.c.attempt == attempt,
        rollups.c.num_steps == size,
        rollups.c.bucket >= first // size,
        rollups.c.bucket < end // size,
    )
    series, bucket, *measured = float_columns(connection, numbers, 2 + len(_MEASURED))
    return Rollups(series=series, bucket=bucket, **dict(zip(_MEASURED, measured, strict=True)))


def _store(connection: Connection, run_key: int, attempt: int, size: int, found: Rollups) -> None:
    columns = [_plain(found.series, whole=True), _plain(found.bucket, whole=True)]
    columns += [_plain(getattr(found, name), whole=name in _WHOLE) for name in _MEASURED]
    rows = [
        (run_key, series, attempt, size, bucket, *measured) for series, bucket, *measured in zip(*columns, strict=True)
    ]
    if rows:
        upsert_raw(connection, rollups, (*_KEY, *_MEASURED), rows, key=_KEY)


def _plain(column: Floats, *, whole: bool) -> list[Any]:
    """As the database takes it: NaN is null."""
    return [None if value != value else int(value) if whole else value for value in column.tolist()]


def _joined(parts: list[Rollups]) -> Rollups:
    return Rollups(
        **{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Rollups)}
    )
