"""All SQL over metrics: names, points, and the x axes of a run's steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, literal, select

from server.database.engine import raw_rows
from server.database.tables import PointKind, metric_names, points, steps
from server.history.buckets import Floats
from server.history.schemas import XAxis
from server.steps.columns import STEP_SERIES, step_series_column
from server.steps.lineage import Segment
from trainer.contracts.metric import Reduction

_MICROSECOND_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRef:
    """Where a series of a run lies: in `points` under an id, or in a column of `steps` (id None)."""

    name: str
    reduction: Reduction
    metric_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointColumns:
    """Points of one series within one segment, by ascending step. What was not measured is left out."""

    step: Floats
    value: Floats
    """NaN where the kind is not FINITE."""
    kind: Floats
    weight: Floats


NO_POINTS = PointColumns(step=np.empty(0), value=np.empty(0), kind=np.empty(0), weight=np.empty(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAxis:
    """The x of each step of one segment, by ascending step."""

    step: Floats
    x: Floats


def metrics(connection: Connection, run_key: int) -> dict[str, MetricRef]:
    """All series of a run by name, those of the step's own columns first."""
    found = {name: MetricRef(name=name, reduction=reduction, metric_id=None) for name, reduction in STEP_SERIES.items()}
    query = select(metric_names).where(metric_names.c.run_key == run_key).order_by(metric_names.c.name)
    for row in connection.execute(query):
        found[row.name] = MetricRef(name=row.name, reduction=Reduction(row.reduction), metric_id=row.id)
    return found


def step_axis(connection: Connection, run_key: int, segment: Segment, axis: XAxis) -> StepAxis:
    """The x of every step of a segment; RELATIVE is in seconds since 1970, as TIME."""
    column: ColumnElement[Any] = {
        XAxis.STEP: steps.c.step,
        XAxis.SAMPLES: steps.c.samples_total,
        XAxis.TOKENS: steps.c.tokens_total,
        XAxis.TIME: steps.c.ended_at,
        XAxis.RELATIVE: steps.c.ended_at,
    }[axis]
    query = select(steps.c.step, column).where(*steps_of(run_key, segment)).order_by(steps.c.step)
    table = _table(raw_rows(connection, query), 2)
    scale = _MICROSECOND_S if axis in (XAxis.TIME, XAxis.RELATIVE) else 1.0
    return StepAxis(step=table[0], x=table[1] * scale)


def first_start_s(connection: Connection, run_key: int, segment: Segment) -> float:
    """When the first step of a segment began, in seconds since 1970; 0 without steps."""
    query = select(steps.c.started_at).where(*steps_of(run_key, segment)).order_by(steps.c.step).limit(1)
    started_at = connection.scalar(query)
    return 0.0 if started_at is None else started_at.timestamp()


def point_columns(
    connection: Connection, run_key: int, metric: MetricRef, segment: Segment, first: float | None, end: float | None
) -> PointColumns:
    """The points of a series within a segment, and within [first, end) of its steps where these are given."""
    if metric.metric_id is None:
        query = select(steps.c.step, step_series_column(metric.name), literal(int(PointKind.FINITE)), literal(1.0))
        query = query.where(*steps_of(run_key, segment)).order_by(steps.c.step)
        step = steps.c.step
    else:
        query = select(points.c.step, points.c.value, points.c.kind, points.c.weight)
        query = query.where(points.c.metric_id == metric.metric_id, *measured_points(segment)).order_by(points.c.step)
        step = points.c.step
    if first is not None:
        query = query.where(step >= first)
    if end is not None:
        query = query.where(step < end)
    table = _table(raw_rows(connection, query), 4)
    return PointColumns(step=table[0], value=table[1], kind=table[2], weight=table[3])


def steps_of(run_key: int, segment: Segment) -> list[ColumnElement[bool]]:
    """Conditions on `steps`: of this segment of that run."""
    terms = [steps.c.run_key == run_key, steps.c.attempt == segment.attempt, steps.c.step >= segment.first]
    return terms if segment.end is None else [*terms, steps.c.step < segment.end]


def measured_points(segment: Segment) -> list[ColumnElement[bool]]:
    """Conditions on `points`: of this segment, and measured."""
    terms = [points.c.attempt == segment.attempt, points.c.step >= segment.first]
    if segment.end is not None:
        terms.append(points.c.step < segment.end)
    return [*terms, points.c.kind != int(PointKind.NOT_MEASURED)]


def _table(rows: Any, width: int) -> Floats:
    """Rows into float columns, [column, row]; None becomes NaN."""
    if not rows:
        return np.empty((width, 0))
    return np.array(rows, dtype=np.float64).T
