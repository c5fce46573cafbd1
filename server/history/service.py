"""Answers a query for the history of metrics: whole points where they fit, buckets where they do not."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from server.database.tables import PointKind
from server.errors import NotFoundError
from server.history import buckets, queries
from server.history.queries import MetricRef, PointColumns
from server.history.schemas import (
    Aggregation,
    MetricHistory,
    NonFinitePoint,
    Series,
    SeriesError,
    XAxis,
)
from server.runs import queries as run_queries
from server.steps.lineage import Segment, current_view, run_segments
from server.steps.point_values import NON_FINITE
from trainer.contracts.metric import Reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """What is asked of every series alike."""

    x: XAxis
    first: float | None
    """The range on the x axis: from `first`, up to but not including `end`."""
    end: float | None
    max_points: int
    agg: Aggregation
    superseded: bool
    """Whether superseded steps are told too, as series of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The points of one series within one segment, with their x."""

    segment: Segment
    points: PointColumns
    x: buckets.Floats

    @property
    def size(self) -> int:
        return int(self.x.size)


def history(connection: Connection, run_ids: Sequence[str], names: Sequence[str], query: HistoryQuery) -> MetricHistory:
    """The series of these names of these runs. One that is missing has an error instead; the others are told."""
    series: list[Series] = []
    errors: list[SeriesError] = []
    wanted = list(dict.fromkeys(unicodedata.normalize("NFC", name) for name in names))
    for run_id in dict.fromkeys(run_ids):
        try:
            found, missing = _run_series(connection, run_id, wanted, query)
        except NotFoundError as error:
            errors.extend(SeriesError(run=run_id, name=name, message=str(error)) for name in wanted)
            continue
        series.extend(found)
        errors.extend(missing)
    return MetricHistory(x=query.x, series=tuple(series), errors=tuple(errors))


def _run_series(
    connection: Connection, run_id: str, names: Sequence[str], query: HistoryQuery
) -> tuple[list[Series], list[SeriesError]]:
    run = run_queries.run_record(connection, run_id)
    key = run_queries.run_key(connection, run.id)
    known = queries.metrics(connection, key)
    segments = run_segments(connection, key)
    shown = segments if query.superseded else current_view(segments)
    axes = _axes(connection, key, shown, query.x)
    series: list[Series] = []
    errors: list[SeriesError] = []
    for name in names:
        if name not in known:
            errors.append(SeriesError(run=run.id, name=name, message=f"The run has no metric {name!r}."))
            continue
        parts = [_part(connection, key, known[name], segment, axes[i], query) for i, segment in enumerate(shown)]
        series.extend(_series(run.id, known[name], parts, query))
    return series, errors


def _axes(
    connection: Connection, run_key: int, segments: Sequence[Segment], axis: XAxis
) -> list[queries.StepAxis | None]:
    """The x of the steps of each segment; None where x is the step itself."""
    if axis is XAxis.STEP or not segments:
        return [None] * len(segments)
    axes = [queries.step_axis(connection, run_key, segment, axis) for segment in segments]
    if axis is not XAxis.RELATIVE:
        return list(axes)
    start_s = queries.first_start_s(connection, run_key, segments[0])
    return [replace(a, x=a.x - start_s) for a in axes]


def _part(
    connection: Connection,
    run_key: int,
    metric: MetricRef,
    segment: Segment,
    axis: queries.StepAxis | None,
    query: HistoryQuery,
) -> _Part:
    if axis is None:
        found = queries.point_columns(connection, run_key, metric, segment, query.first, query.end)
        return _Part(segment=segment, points=found, x=found.step)
    inside = np.ones(axis.x.size, dtype=bool)
    if query.first is not None:
        inside &= axis.x >= query.first
    if query.end is not None:
        inside &= axis.x < query.end
    step, x = axis.step[inside], axis.x[inside]
    if step.size == 0:
        return _Part(segment=segment, points=queries.NO_POINTS, x=np.empty(0))
    found = queries.point_columns(connection, run_key, metric, segment, float(step.min()), float(step.max()) + 1)
    # Time may run backwards on a driver's clock: then steps within the range of steps lie outside the range of x.
    kept = np.isin(found.step, step)
    found = PointColumns(
        step=found.step[kept], value=found.value[kept], kind=found.kind[kept], weight=found.weight[kept]
    )
    return _Part(segment=segment, points=found, x=x[np.searchsorted(step, found.step)])


def _series(run_id: str, metric: MetricRef, parts: Sequence[_Part], query: HistoryQuery) -> list[Series]:
    """One series for each segment that has points. All are cut into buckets of the same width, or none is."""
    parts = [part for part in parts if part.size]
    width: float | None = None
    if query.agg is not Aggregation.NONE and sum(part.size for part in parts) > query.max_points:
        low, high = min(float(part.x.min()) for part in parts), max(float(part.x.max()) for part in parts)
        width = buckets.bucket_width(low, high, query.max_points)
    return [_one_series(run_id, metric, part, width, query.agg) for part in parts]


def _one_series(run_id: str, metric: MetricRef, part: _Part, width: float | None, agg: Aggregation) -> Series:
    finite = part.points.kind == PointKind.FINITE
    columns = buckets.points(
        x=part.x[finite],
        step=part.points.step[finite],
        value=part.points.value[finite],
        weight=part.points.weight[finite],
    )
    if width is not None:
        reduction = Reduction.LAST if agg is Aggregation.LAST else metric.reduction
        columns = buckets.into_buckets(columns, width, reduction)
    has_range = width is not None and agg is Aggregation.MINMAX
    return Series(
        run=run_id,
        name=metric.name,
        attempt=part.segment.attempt,
        superseded=part.segment.superseded,
        total=part.size,
        sampled=width is not None,
        x=_floats(columns.x),
        step=_integers(columns.step),
        last_step=_integers(columns.last_step),
        value=_floats(columns.value),
        weight=_floats(columns.weight),
        min=_floats(columns.low) if has_range else None,
        max=_floats(columns.high) if has_range else None,
        non_finite=_non_finite(part, width),
    )


def _non_finite(part: _Part, width: float | None) -> tuple[NonFinitePoint, ...]:
    """What no axis can hold; with buckets, the first of each kind in each of them."""
    found: list[NonFinitePoint] = []
    seen: set[tuple[int, int]] = set()
    for i in np.flatnonzero(part.points.kind != PointKind.FINITE):
        x, kind = float(part.x[i]), int(part.points.kind[i])
        if width is not None:
            place = (math.floor(x / width), kind)
            if place in seen:
                continue
            seen.add(place)
        found.append(NonFinitePoint(x=x, step=int(part.points.step[i]), value=NON_FINITE[kind]))
    return tuple(found)


def _floats(array: buckets.Floats) -> tuple[float, ...]:
    return tuple(array.tolist())


def _integers(array: buckets.Floats) -> tuple[int, ...]:
    return tuple(array.astype(np.int64).tolist())
