"""The metrics of a run, with what a list shows of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection

from server.database.tables import PointKind
from server.history import queries
from server.history.queries import MetricRef, PointColumns
from server.history.schemas import MetricInfo
from server.steps.lineage import Segment, current_view, run_segments
from server.steps.point_values import from_columns


def catalogue(connection: Connection, run_key: int) -> list[MetricInfo]:
    """Every series of the run's current view that has points."""
    view = current_view(run_segments(connection, run_key))
    found = (_info(connection, run_key, metric, view) for metric in queries.metrics(connection, run_key).values())
    return [info for info in found if info is not None]


def _info(connection: Connection, run_key: int, metric: MetricRef, view: Sequence[Segment]) -> MetricInfo | None:
    parts = [queries.point_columns(connection, run_key, metric, segment, None, None) for segment in view]
    parts = [part for part in parts if part.step.size]
    if not parts:
        return None
    finite = np.concatenate([part.value[part.kind == PointKind.FINITE] for part in parts])
    last: PointColumns = parts[-1]
    return MetricInfo(
        name=metric.name,
        reduction=metric.reduction,
        num_points=sum(part.step.size for part in parts),
        first_step=int(parts[0].step[0]),
        last_step=int(last.step[-1]),
        last=from_columns(float(last.value[-1]), int(last.kind[-1])),
        min=float(finite.min()) if finite.size else None,
        max=float(finite.max()) if finite.size else None,
    )
