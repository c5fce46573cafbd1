"""All SQL that reads steps and schedules."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from orchestrator.contracts.messages import BatchDecision, MetricMessage, Phase, ScheduleMessage
from server.database.tables import metric_names, points, runs, schedules, steps
from server.errors import NotFoundError
from server.retention.limits import RecordKind
from server.retention.queries import why_not_kept
from server.steps.columns import REPORT_COLUMNS
from server.steps.lineage import Segment, current_view, in_segments, run_segments
from server.steps.point_values import from_columns
from server.steps.schemas import StepRow, StoredSchedule


def page(
    connection: Connection, run_key: int, *, first: int, limit: int, phase: Phase | None = None
) -> tuple[list[StepRow], int | None]:
    """Steps of the current view from `first` on, ascending, and the step at which the next page begins.

    phase: only its steps; None: all.
    """
    wanted = [in_segments(run_key, current_view(run_segments(connection, run_key))), steps.c.step >= first]
    if phase is not None:
        wanted.append(steps.c.phase == phase)
    rows = connection.execute(select(steps).where(*wanted).order_by(steps.c.step).limit(limit + 1)).all()
    return _step_rows(connection, run_key, rows[:limit], superseded=False), rows[limit].step if rows[limit:] else None


def segment_page(connection: Connection, run_key: int, segment: Segment, *, first: int, limit: int) -> list[StepRow]:
    """Steps of one segment from `first` on, ascending."""
    rows = connection.execute(
        select(steps).where(in_segments(run_key, [segment]), steps.c.step >= first).order_by(steps.c.step).limit(limit)
    ).all()
    return _step_rows(connection, run_key, rows, superseded=segment.superseded)


def newest(connection: Connection, run_key: int, *, limit: int) -> list[StepRow]:
    """The newest steps of the current view, ascending."""
    view = in_segments(run_key, current_view(run_segments(connection, run_key)))
    rows = connection.execute(select(steps).where(view).order_by(steps.c.step.desc()).limit(limit)).all()
    return _step_rows(connection, run_key, rows[::-1], superseded=False)


def count(connection: Connection, run_key: int, *, phase: Phase | None = None) -> int:
    """Steps of the current view.

    phase: only its steps, which are counted: a few milliseconds for 20,000 steps; None: all, as ingest keeps their
    number, since to count millions takes longer than to read a page.
    """
    query = select(runs.c.num_steps).where(runs.c.key == run_key)
    if phase is not None:
        view = in_segments(run_key, current_view(run_segments(connection, run_key)))
        query = select(func.count()).select_from(steps).where(view, steps.c.phase == phase)
    return connection.scalar(query) or 0


def step(connection: Connection, run_key: int, number: int, attempt: int | None) -> StepRow:
    """One step, from the attempt that the current view shows it from unless told otherwise. Raises NotFoundError."""
    row, superseded = step_place(connection, run_key, number, attempt)
    return _step_rows(connection, run_key, [row], superseded=superseded)[0]


def schedule(
    connection: Connection, run_key: int, number: int, attempt: int | None
) -> tuple[Row[Any], ScheduleMessage]:
    """The row of a step and its schedule. Raises NotFoundError."""
    row, _ = step_place(connection, run_key, number, attempt)
    blob = connection.execute(
        select(schedules.c.blob).where(
            schedules.c.run_key == run_key, schedules.c.attempt == row.attempt, schedules.c.step == number
        )
    ).scalar_one_or_none()
    if blob is None:
        reason = why_not_kept(connection, run_key, RecordKind.SCHEDULES, number)
        raise NotFoundError(
            f"Step {number} was recorded without a schedule." if reason is None else f"Its schedule is {reason}."
        )
    return row, ScheduleMessage.model_validate_json(zlib.decompress(blob))


def schedule_page(
    connection: Connection, run_key: int, segment: Segment, *, first: int, limit: int
) -> list[StoredSchedule]:
    """The schedules of one segment from step `first` on, ascending. Steps without one are left out."""
    mine = [schedules.c.run_key == run_key, schedules.c.attempt == segment.attempt]
    query = select(schedules.c.step, schedules.c.blob).where(*mine, schedules.c.step >= max(first, segment.first))
    if segment.end is not None:
        query = query.where(schedules.c.step < segment.end)
    return [
        StoredSchedule(
            step=row.step,
            attempt=segment.attempt,
            superseded=segment.superseded,
            schedule=ScheduleMessage.model_validate_json(zlib.decompress(row.blob)),
        )
        for row in connection.execute(query.order_by(schedules.c.step).limit(limit))
    ]


def step_place(connection: Connection, run_key: int, number: int, attempt: int | None) -> tuple[Row[Any], bool]:
    """The row of a step, and whether it is superseded. Raises NotFoundError."""
    segments = run_segments(connection, run_key)
    wanted = current_view(segments) if attempt is None else [s for s in segments if s.attempt == attempt]
    row = connection.execute(select(steps).where(in_segments(run_key, wanted), steps.c.step == number)).one_or_none()
    if row is None:
        where = "" if attempt is None else f" in attempt {attempt}"
        raise NotFoundError(f"The run has no step {number}{where}.")
    return row, _is_superseded(segments, row)


def _is_superseded(segments: Iterable[Segment], row: Row[Any]) -> bool:
    return any(s.superseded and s.attempt == row.attempt and s.first <= row.step for s in segments)


def _step_rows(connection: Connection, run_key: int, rows: Sequence[Row[Any]], *, superseded: bool) -> list[StepRow]:
    metrics = _metrics(connection, run_key, rows)
    scheduled = _scheduled(connection, run_key, rows)
    return [
        _step_row(row, metrics.get((row.attempt, row.step), {}), superseded, (row.attempt, row.step) in scheduled)
        for row in rows
    ]


def _scheduled(connection: Connection, run_key: int, rows: Sequence[Row[Any]]) -> set[tuple[int, int]]:
    """Those of these steps that have a schedule, by (attempt, step)."""
    if not rows:
        return set()
    numbers = [row.step for row in rows]
    found = connection.execute(
        select(schedules.c.attempt, schedules.c.step).where(
            schedules.c.run_key == run_key,
            schedules.c.attempt.in_({row.attempt for row in rows}),
            schedules.c.step.between(min(numbers), max(numbers)),
        )
    )
    return {(row.attempt, row.step) for row in found}


def _step_row(row: Row[Any], metrics: Mapping[str, MetricMessage], superseded: bool, has_schedule: bool) -> StepRow:
    told = {name: getattr(row, name) for name in REPORT_COLUMNS}
    return StepRow(
        **told,
        batch_decision=None if row.batch_decision is None else BatchDecision.model_validate_json(row.batch_decision),
        metrics=dict(metrics),
        attempt=row.attempt,
        superseded=superseded,
        samples_total=row.samples_total,
        tokens_total=row.tokens_total,
        has_schedule=has_schedule,
    )


def _metrics(
    connection: Connection, run_key: int, rows: Sequence[Row[Any]]
) -> dict[tuple[int, int], dict[str, MetricMessage]]:
    """The metrics of these steps by (attempt, step)."""
    found: dict[tuple[int, int], dict[str, MetricMessage]] = {}
    names = {row.id: row for row in connection.execute(select(metric_names).where(metric_names.c.run_key == run_key))}
    for attempt in {row.attempt for row in rows}:
        numbers = [row.step for row in rows if row.attempt == attempt]
        query = select(points).where(
            points.c.metric_id.in_(list(names)),
            points.c.attempt == attempt,
            points.c.step.between(min(numbers), max(numbers)),
        )
        for point in connection.execute(query):
            name = names[point.metric_id]
            message = MetricMessage(
                value=from_columns(point.value, point.kind), weight=point.weight, reduction=name.reduction
            )
            found.setdefault((attempt, point.step), {})[name.name] = message
    return found
