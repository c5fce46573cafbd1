"""All SQL over metrics: names, points and their rollups. The x axes of a run's steps are in `axes.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, literal, select

from server.database.engine import float_columns
from server.database.tables import PointKind, attempts, metric_names, points, rollups, steps
from server.history.buckets import Floats
from server.history.series import COLUMN_NUMBERS
from server.history.stretches import Stretch, stretches
from server.steps.columns import STEP_SERIES, step_series_column
from server.steps.lineage import Segment
from trainer.contracts.metric import Reduction

_NO_END = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRef:
    """Where a series of a run lies: in `points` under an id, or in a column of `steps` (id None)."""

    name: str
    reduction: Reduction
    metric_id: int | None

    @property
    def series(self) -> int:
        """Its number in the rollups."""
        return COLUMN_NUMBERS[self.name] if self.metric_id is None else self.metric_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Steps of one segment that are asked for, from `first` up to `end`."""

    run_key: int
    segment: Segment
    first: int
    end: int
    rolled_up_to: int

    def stretches(self, coarsest: int) -> Iterable[Stretch]:
        """How to read it, with no rollup of more than that many steps."""
        return stretches(self.first, self.end, rolled_up_to=self.rolled_up_to, coarsest=coarsest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What a range holds of one series. What was not measured is left out."""

    num_points: int
    """Non-finite ones included."""
    first_step: int
    last_step: int
    low: float | None
    """Over finite values."""
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointColumns:
    """Points of one series by ascending step. What was not measured is left out."""

    step: Floats
    value: Floats
    """NaN where the kind is not FINITE."""
    kind: Floats
    weight: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupColumns:
    """Rollups of one series by ascending bucket; NaN: none."""

    bucket: Floats
    first_finite_step: Floats
    last_finite_step: Floats
    value: Floats
    weight: Floats
    low: Floats
    high: Floats
    last_value: Floats
    nan_step: Floats
    positive_infinity_step: Floats
    negative_infinity_step: Floats


def metrics(connection: Connection, run_key: int) -> dict[str, MetricRef]:
    """All series of a run by name, those of the step's own columns first."""
    found = {name: MetricRef(name=name, reduction=reduction, metric_id=None) for name, reduction in STEP_SERIES.items()}
    query = select(metric_names).where(metric_names.c.run_key == run_key).order_by(metric_names.c.name)
    for row in connection.execute(query):
        found[row.name] = MetricRef(name=row.name, reduction=Reduction(row.reduction), metric_id=row.id)
    return found


def whole_ranges(connection: Connection, run_key: int, segments: Iterable[Segment]) -> list[Range]:
    """Everything of these segments."""
    rows = connection.execute(select(attempts.c.number, attempts.c.rolled_up_to).where(attempts.c.run_key == run_key))
    rolled_up_to = {row.number: row.rolled_up_to for row in rows}
    return [
        Range(
            run_key=run_key,
            segment=segment,
            first=segment.first,
            end=_NO_END if segment.end is None else segment.end,
            rolled_up_to=rolled_up_to[segment.attempt],
        )
        for segment in segments
    ]


def extents(connection: Connection, asked: Range, wanted: Sequence[MetricRef], coarsest: int) -> dict[int, Extent]:
    """What the range holds of each series, by its number; one that has no points there is left out."""
    found: dict[int, Extent] = {}
    for stretch in asked.stretches(coarsest):
        parts = (
            {**_point_extents(connection, asked, stretch, wanted), **_step_extents(connection, asked, stretch, wanted)}
            if stretch.num_steps == 1
            else _rollup_extents(connection, asked, stretch, wanted)
        )
        for series, part in parts.items():
            found[series] = part if series not in found else _together(found[series], part)
    return found


def point_columns(connection: Connection, asked: Range, metric: MetricRef, first: int, end: int) -> PointColumns:
    """The points of a series from step `first` up to `end`."""
    if metric.metric_id is None:
        query = select(steps.c.step, step_series_column(metric.name), literal(int(PointKind.FINITE)), literal(1.0))
        known = step_series_column(metric.name).is_not(None)
        query = query.where(known, *steps_between(asked, first, end)).order_by(steps.c.step)
    else:
        query = select(points.c.step, points.c.value, points.c.kind, points.c.weight)
        query = query.where(points.c.metric_id == metric.metric_id, *_points_between(asked, first, end))
        query = query.order_by(points.c.step)
    step, value, kind, weight = float_columns(connection, query, 4)
    return PointColumns(step=step, value=value, kind=kind, weight=weight)


def rollup_columns(connection: Connection, asked: Range, metric: MetricRef, stretch: Stretch) -> RollupColumns:
    """The rollups of a series in a stretch."""
    names = RollupColumns.__dataclass_fields__
    query = select(*(rollups.c[name] for name in names)).where(*rollups_of(asked, [metric.series], stretch))
    columns = float_columns(connection, query.order_by(rollups.c.bucket), len(names))
    return RollupColumns(**dict(zip(names, columns, strict=True)))


def rollups_of(asked: Range, series: Sequence[int], stretch: Stretch) -> list[ColumnElement[bool]]:
    """Conditions on `rollups`: of these series in this stretch of the range's attempt."""
    return [
        rollups.c.run_key == asked.run_key,
        rollups.c.series.in_(series) if len(series) > 1 else rollups.c.series == series[0],
        rollups.c.attempt == asked.segment.attempt,
        rollups.c.num_steps == stretch.num_steps,
        rollups.c.bucket >= stretch.first // stretch.num_steps,
        rollups.c.bucket < stretch.end // stretch.num_steps,
    ]


def steps_between(asked: Range, first: int, end: int) -> list[ColumnElement[bool]]:
    """Conditions on `steps`: of the range's attempt, from `first` up to `end`."""
    return [
        steps.c.run_key == asked.run_key,
        steps.c.attempt == asked.segment.attempt,
        steps.c.step >= first,
        steps.c.step < end,
    ]


def _points_between(asked: Range, first: int, end: int) -> list[ColumnElement[bool]]:
    return [
        points.c.attempt == asked.segment.attempt,
        points.c.step >= first,
        points.c.step < end,
        points.c.kind != int(PointKind.NOT_MEASURED),
    ]


def _rollup_extents(
    connection: Connection, asked: Range, stretch: Stretch, wanted: Sequence[MetricRef]
) -> dict[int, Extent]:
    query = select(
        rollups.c.series,
        func.sum(rollups.c.num_points),
        func.min(rollups.c.first_step),
        func.max(rollups.c.last_step),
        func.min(rollups.c.low),
        func.max(rollups.c.high),
    ).where(*rollups_of(asked, [metric.series for metric in wanted], stretch))
    rows = connection.execute(query.group_by(rollups.c.series))
    return {series: _extent(int(count), *found) for series, count, *found in rows}


def _point_extents(
    connection: Connection, asked: Range, stretch: Stretch, wanted: Sequence[MetricRef]
) -> dict[int, Extent]:
    metric_ids = [metric.metric_id for metric in wanted if metric.metric_id is not None]
    if not metric_ids:
        return {}
    query = select(
        points.c.metric_id,
        func.count(),
        func.min(points.c.step),
        func.max(points.c.step),
        func.min(points.c.value),
        func.max(points.c.value),
    ).where(points.c.metric_id.in_(metric_ids), *_points_between(asked, stretch.first, stretch.end))
    rows = connection.execute(query.group_by(points.c.metric_id))
    return {metric_id: _extent(count, *found) for metric_id, count, *found in rows}


def _step_extents(
    connection: Connection, asked: Range, stretch: Stretch, wanted: Sequence[MetricRef]
) -> dict[int, Extent]:
    columns = [metric for metric in wanted if metric.metric_id is None]
    if not columns:
        return {}
    wanted_of_each = [term for metric in columns for term in _extent_terms(step_series_column(metric.name))]
    query = select(*wanted_of_each).where(*steps_between(asked, stretch.first, stretch.end))
    found = connection.execute(query).one()
    extents = {metric.series: _extent(*found[5 * i : 5 * i + 5]) for i, metric in enumerate(columns)}
    return {series: extent for series, extent in extents.items() if extent.num_points}


def _extent_terms(column: ColumnElement[float]) -> list[ColumnElement[Any]]:
    step = case((column.is_not(None), steps.c.step))
    return [func.count(column), func.min(step), func.max(step), func.min(column), func.max(column)]


def _extent(num_points: int, first_step: int, last_step: int, low: float | None, high: float | None) -> Extent:
    return Extent(num_points=num_points, first_step=first_step, last_step=last_step, low=low, high=high)


def _together(before: Extent, after: Extent) -> Extent:
    lows = [part.low for part in (before, after) if part.low is not None]
    highs = [part.high for part in (before, after) if part.high is not None]
    return Extent(
        num_points=before.num_points + after.num_points,
        first_step=before.first_step,
        last_step=after.last_step,
        low=min(lows, default=None),
        high=max(highs, default=None),
    )
