"""The metrics of a run's current view, with what a list shows of each; from rollups where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select, tuple_

from orchestrator.contracts.messages import NonFinite
from server.database.tables import points, steps
from server.history import queries
from server.history.queries import Extent, MetricRef, Range
from server.history.schemas import MetricInfo
from server.history.stretches import COARSEST
from server.steps.lineage import current_view, run_segments
from server.steps.point_values import from_columns

_Parts = Mapping[int, Sequence[tuple[int, Extent]]]
"""By the number of the series: attempt and extent of each segment that has points of it."""


def catalogue(connection: Connection, run_key: int) -> list[MetricInfo]:
    """Every series of the run's current view that has points; those of the step's own columns first."""
    ranges = queries.whole_ranges(connection, run_key, current_view(run_segments(connection, run_key)))
    metrics = list(queries.metrics(connection, run_key).values())
    parts: dict[int, list[tuple[int, Extent]]] = {}
    for asked in ranges:
        for series, extent in queries.extents(connection, asked, metrics, COARSEST).items():
            parts.setdefault(series, []).append((asked.segment.attempt, extent))
    last = {**_last_of_columns(connection, ranges, metrics, parts), **_last_of_points(connection, metrics, parts)}
    return [_info(metric, parts[metric.series], last[metric.series]) for metric in metrics if metric.series in parts]


def _last_of_points(
    connection: Connection, metrics: Sequence[MetricRef], parts: _Parts
) -> dict[int, float | NonFinite | None]:
    recorded = [metric.series for metric in metrics if metric.metric_id is not None and metric.series in parts]
    keys = [(series, parts[series][-1][0], parts[series][-1][1].last_step) for series in recorded]
    query = select(points.c.metric_id, points.c.value, points.c.kind).where(
        tuple_(points.c.metric_id, points.c.attempt, points.c.step).in_(keys)
    )
    return {row.metric_id: from_columns(row.value, row.kind) for row in connection.execute(query)}


def _last_of_columns(
    connection: Connection, ranges: Sequence[Range], metrics: Sequence[MetricRef], parts: _Parts
) -> dict[int, float]:
    columns = [metric for metric in metrics if metric.metric_id is None and metric.series in parts]
    if not columns:
        return {}
    last = {metric.series: parts[metric.series][-1] for metric in columns}
    places = {(attempt, extent.last_step) for attempt, extent in last.values()}
    rows = connection.execute(
        select(steps.c.attempt, steps.c.step, *(steps.c[metric.name] for metric in columns)).where(
            steps.c.run_key == ranges[0].run_key, tuple_(steps.c.attempt, steps.c.step).in_(places)
        )
    )
    at = {(row.attempt, row.step): row for row in rows}
    return {
        metric.series: getattr(at[last[metric.series][0], last[metric.series][1].last_step], metric.name)
        for metric in columns
    }


def _info(metric: MetricRef, parts: Sequence[tuple[int, Extent]], last: float | NonFinite | None) -> MetricInfo:
    extents = [extent for _, extent in parts]
    return MetricInfo(
        name=metric.name,
        reduction=metric.reduction,
        num_points=sum(extent.num_points for extent in extents),
        first_step=extents[0].first_step,
        last_step=extents[-1].last_step,
        last=last,
        min=min((extent.low for extent in extents if extent.low is not None), default=None),
        max=max((extent.high for extent in extents if extent.high is not None), default=None),
    )
