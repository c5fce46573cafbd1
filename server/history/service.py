"""Answers a query for the history of metrics: whole points where they fit, buckets where they do not.

steps that lie in the range ──► how many points? ── few ──► points ──────────────────────┐
                                                 └─ many ─► rollups, points at the edges ─┴─► x ──► buckets
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from server.errors import NotFoundError
from server.history import axes, buckets, queries
from server.history.parts import Part, PartReader
from server.history.queries import Extent, MetricRef, Range
from server.history.schemas import (
    MAX_ANSWER_POINTS,
    Aggregation,
    MetricHistory,
    NonFinitePoint,
    Series,
    SeriesError,
    XAxis,
)
from server.history.stretches import COARSEST, fitting_size
from server.runs import queries as run_queries
from server.steps.lineage import current_view, run_segments
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


class TooManyPointsError(ValueError):
    """One answer would hold more points than a server should have in memory at a time."""


def history(connection: Connection, run_ids: Sequence[str], names: Sequence[str], query: HistoryQuery) -> MetricHistory:
    """The series of these names of these runs. One that is missing has an error instead; the others are told.

    Raises TooManyPointsError, before those are read that are too many.
    """
    series: list[Series] = []
    room = _Room(MAX_ANSWER_POINTS)
    errors: list[SeriesError] = []
    wanted = list(dict.fromkeys(unicodedata.normalize("NFC", name) for name in names))
    for run_id in dict.fromkeys(run_ids):
        try:
            found, missing = _run_series(connection, run_id, wanted, query, room)
        except NotFoundError as error:
            errors.extend(SeriesError(run=run_id, name=name, message=str(error)) for name in wanted)
            continue
        series.extend(found)
        errors.extend(missing)
    return MetricHistory(x=query.x, series=tuple(series), errors=tuple(errors))


class _Room:
    """How many points an answer has room for yet."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, num_points: int) -> None:
        self._left -= num_points
        if self._left < 0:
            raise TooManyPointsError(
                f"the answer would hold more than {self._most:,} points; ask for fewer runs, names or points at a "
                "time, for a part of the range, or for an export of the run"
            )


def _run_series(
    connection: Connection, run_id: str, names: Sequence[str], query: HistoryQuery, room: _Room
) -> tuple[list[Series], list[SeriesError]]:
    run = run_queries.run_record(connection, run_id)
    key = run_queries.run_key(connection, run.id)
    known = queries.metrics(connection, key)
    missing = [
        SeriesError(run=run.id, name=name, message=f"The run has no metric {name!r}.")
        for name in names
        if name not in known
    ]
    wanted = [known[name] for name in names if name in known]
    segments = run_segments(connection, key)
    shown = segments if query.superseded else current_view(segments)
    axis = axes.axis_of(connection, key, shown, query.x)
    ranges = [_asked(connection, axis, whole, query) for whole in queries.whole_ranges(connection, key, shown)]
    extents = [queries.extents(connection, asked, wanted, COARSEST) for asked in ranges] if wanted else []
    reader = PartReader(connection, axis, first=query.first, end=query.end)
    holding = [(metric, _holding(metric, ranges, extents)) for metric in wanted]
    room.take(sum(_num_told(found, query) for _, found in holding))
    series = [one for metric, found in holding for one in _metric_series(run.id, metric, reader, query, found)]
    series, unplaced = _placed(run.id, query.x, series)
    return series, [*missing, *unplaced]


def _placed(run_id: str, x: XAxis, series: Sequence[Series]) -> tuple[list[Series], list[SeriesError]]:
    """Without those whose steps lie nowhere on the axis: not every framework counts its tokens."""
    if x is not XAxis.TOKENS:
        return list(series), []
    placed = [one for one in series if one.x or one.non_finite]
    lost = dict.fromkeys(one.name for one in series if not (one.x or one.non_finite))
    message = "The run does not tell the tokens of its steps; choose another x."
    return placed, [SeriesError(run=run_id, name=name, message=message) for name in lost]


def _holding(
    metric: MetricRef, ranges: Sequence[Range], extents: Sequence[dict[int, Extent]]
) -> list[tuple[Range, Extent]]:
    return [
        (asked, found[metric.series]) for asked, found in zip(ranges, extents, strict=True) if metric.series in found
    ]


def _asked(connection: Connection, axis: axes.Axis | None, whole: Range, query: HistoryQuery) -> Range:
    """The steps of a segment that may lie in the range of x."""
    if query.first is None and query.end is None:
        return whole
    if axis is not None:
        first, end = axes.narrowed(connection, axis, whole, query.first, query.end)
        return replace(whole, first=first, end=end)
    first = whole.first if query.first is None else max(whole.first, _step(query.first))
    end = whole.end if query.end is None else min(whole.end, _step(query.end))
    return replace(whole, first=first, end=max(first, end))


def _step(x: float) -> int:
    """The first step at or after x, within what a step can be."""
    return math.ceil(min(max(x, 0.0), 2.0**53))


def _num_told(holding: Sequence[tuple[Range, Extent]], query: HistoryQuery) -> int:
    total = sum(extent.num_points for _, extent in holding)
    return total if query.agg is Aggregation.NONE else min(total, query.max_points)


def _metric_series(
    run_id: str, metric: MetricRef, reader: PartReader, query: HistoryQuery, holding: Sequence[tuple[Range, Extent]]
) -> list[Series]:
    """One series for each segment that has points. All are cut into buckets of the same width, or none is."""
    total = sum(extent.num_points for _, extent in holding)
    if query.agg is Aggregation.NONE or total <= query.max_points:
        parts = [(asked, reader.points(asked, metric)) for asked, _ in holding]
        return [
            _one_series(run_id, metric, asked, part, query.agg, width=None, total=part.num_points)
            for asked, part in parts
            if part.num_points or query.x is XAxis.TOKENS
        ]
    width = buckets.bucket_width(
        min(extent.first_step for _, extent in holding),
        max(extent.last_step for _, extent in holding),
        query.max_points,
    )
    reduction = Reduction.LAST if query.agg is Aggregation.LAST else metric.reduction
    sampled = [
        (asked, extent, reader.rollups(asked, metric, reduction, coarsest=fitting_size(width)))
        for asked, extent in holding
    ]
    if query.x is not XAxis.STEP:
        ends = [end for _, _, part in sampled for end in part.x_range()]
        width = buckets.bucket_width(min(ends, default=0.0), max(ends, default=0.0), query.max_points)
    return [
        _one_series(run_id, metric, asked, part, query.agg, width=width, total=extent.num_points)
        for asked, extent, part in sampled
    ]


def _one_series(
    run_id: str, metric: MetricRef, asked: Range, part: Part, agg: Aggregation, *, width: float | None, total: int
) -> Series:
    columns = part.columns
    if width is not None:
        reduction = Reduction.LAST if agg is Aggregation.LAST else metric.reduction
        columns = buckets.into_buckets(columns, width, reduction)
    has_range = width is not None and agg is Aggregation.MINMAX
    return Series(
        run=run_id,
        name=metric.name,
        attempt=asked.segment.attempt,
        superseded=asked.segment.superseded,
        total=total,
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


def _non_finite(part: Part, width: float | None) -> tuple[NonFinitePoint, ...]:
    """What no axis can hold; with buckets, the first of each kind in each of them."""
    found: list[NonFinitePoint] = []
    seen: set[tuple[int, int]] = set()
    for x, step, kind in part.non_finite:
        if width is not None:
            place = (math.floor(x / width), kind)
            if place in seen:
                continue
            seen.add(place)
        found.append(NonFinitePoint(x=x, step=step, value=NON_FINITE[kind]))
    return tuple(found)


def _floats(array: buckets.Floats) -> tuple[float, ...]:
    return tuple(array.tolist())


def _integers(array: buckets.Floats) -> tuple[int, ...]:
    return tuple(array.astype("int64").tolist())
