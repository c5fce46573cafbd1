"""The metrics of a run's current view, with what a list shows of each; counted by the database, not point by point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, tuple_

from orchestrator.contracts.messages import NonFinite
from server.database.tables import points, steps
from server.history import queries
from server.history.queries import MetricRef, measured_points, steps_of
from server.history.schemas import MetricInfo
from server.steps.columns import STEP_SERIES
from server.steps.lineage import Segment, current_view, run_segments
from server.steps.point_values import from_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extent:
    """What one segment holds of one series."""

    attempt: int
    num_points: int
    first_step: int
    last_step: int
    low: float | None
    high: float | None


def catalogue(connection: Connection, run_key: int) -> list[MetricInfo]:
    """Every series of the run's current view that has points; those of the step's own columns first."""
    view = current_view(run_segments(connection, run_key))
    metrics = queries.metrics(connection, run_key)
    recorded = {metric.metric_id: metric for metric in metrics.values() if metric.metric_id is not None}
    extents = _point_extents(connection, list(recorded), view)
    last = _last_values(connection, extents)
    return [
        *_step_infos(connection, run_key, metrics, view),
        *(_info(metric, extents[i], last[i]) for i, metric in recorded.items() if i in extents),
    ]


def _point_extents(
    connection: Connection, metric_ids: Sequence[int], view: Iterable[Segment]
) -> dict[int, list[_Extent]]:
    """By metric id, one entry for each segment that has points of it."""
    found: dict[int, list[_Extent]] = {}
    for segment in view:
        query = select(
            points.c.metric_id,
            func.count(),
            func.min(points.c.step),
            func.max(points.c.step),
            func.min(points.c.value),
            func.max(points.c.value),
        ).where(points.c.metric_id.in_(metric_ids), *measured_points(segment))
        for metric_id, count, first, last, low, high in connection.execute(query.group_by(points.c.metric_id)):
            extent = _Extent(
                attempt=segment.attempt, num_points=count, first_step=first, last_step=last, low=low, high=high
            )
            found.setdefault(metric_id, []).append(extent)
    return found


def _last_values(
    connection: Connection, extents: Mapping[int, Sequence[_Extent]]
) -> dict[int, float | NonFinite | None]:
    keys = [(metric_id, parts[-1].attempt, parts[-1].last_step) for metric_id, parts in extents.items()]
    query = select(points.c.metric_id, points.c.value, points.c.kind).where(
        tuple_(points.c.metric_id, points.c.attempt, points.c.step).in_(keys)
    )
    return {row.metric_id: from_columns(row.value, row.kind) for row in connection.execute(query)}


def _step_infos(
    connection: Connection, run_key: int, metrics: Mapping[str, MetricRef], view: Iterable[Segment]
) -> list[MetricInfo]:
    parts: dict[str, list[_Extent]] = {name: [] for name in STEP_SERIES}
    newest: Mapping[str, float] = {}
    for segment in view:
        extremes = [each(steps.c[name]) for name in STEP_SERIES for each in (func.min, func.max)]
        query = select(func.count(), func.min(steps.c.step), func.max(steps.c.step), *extremes)
        count, first, last, *values = connection.execute(query.where(*steps_of(run_key, segment))).one()
        if not count:
            continue
        for i, name in enumerate(STEP_SERIES):
            low, high = values[2 * i : 2 * i + 2]
            extent = _Extent(
                attempt=segment.attempt, num_points=count, first_step=first, last_step=last, low=low, high=high
            )
            parts[name].append(extent)
        row = select(*(steps.c[name] for name in STEP_SERIES)).where(*steps_of(run_key, segment), steps.c.step == last)
        newest = dict(zip(STEP_SERIES, connection.execute(row).one(), strict=True))
    return [_info(metrics[name], parts[name], newest[name]) for name in STEP_SERIES if parts[name]]


def _info(metric: MetricRef, parts: Sequence[_Extent], last: float | NonFinite | None) -> MetricInfo:
    return MetricInfo(
        name=metric.name,
        reduction=metric.reduction,
        num_points=sum(part.num_points for part in parts),
        first_step=parts[0].first_step,
        last_step=parts[-1].last_step,
        last=last,
        min=min((part.low for part in parts if part.low is not None), default=None),
        max=max((part.high for part in parts if part.high is not None), default=None),
    )
