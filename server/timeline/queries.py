"""All SQL that reads timelines."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, and_, select

from orchestrator.contracts.timeline_message import TimelineColumns
from server.database.packing import unpack_json
from server.database.tables import steps, timelines
from server.steps.lineage import current_view, in_segments, run_segments
from server.steps.queries import step_place
from server.timeline.schemas import MAX_TIMELINE_SPANS, MAX_TIMELINE_STEPS, StepTimeline, TimelinePart

_OF_STEP = ("step", "attempt", "iteration", "phase", "started_at", "ended_at")


def step_timeline(connection: Connection, run_key: int, step: int, attempt: int | None) -> StepTimeline:
    """The timeline of one step, from the attempt that the run shows unless told otherwise. Raises NotFoundError."""
    row, superseded = step_place(connection, run_key, step, attempt)
    blob = connection.scalar(
        select(timelines.c.blob).where(
            timelines.c.run_key == run_key, timelines.c.attempt == row.attempt, timelines.c.step == row.step
        )
    )
    return _step_timeline(row, blob, superseded=superseded)


def part(connection: Connection, run_key: int, *, first: int, end: int) -> TimelinePart:
    """The steps of the current view from `first` up to `end`, as far as one answer has room for them."""
    same = and_(*(timelines.c[name] == steps.c[name] for name in ("run_key", "attempt", "step")))
    columns = [*(steps.c[name] for name in _OF_STEP), timelines.c.blob]
    query = (
        select(*columns)
        .select_from(steps.outerjoin(timelines, same))
        .where(in_segments(run_key, current_view(run_segments(connection, run_key))))
        .where(steps.c.step >= first, steps.c.step < end)
        .order_by(steps.c.step)
        .limit(MAX_TIMELINE_STEPS + 1)
    )
    items: list[StepTimeline] = []
    num_spans = 0
    with connection.execute(query, execution_options={"yield_per": 50}) as rows:
        for row in rows:
            told = _step_timeline(row, row.blob, superseded=False)
            num_spans += 0 if told.timeline is None else len(told.timeline.actor)
            # One step always has room.
            if items and (len(items) == MAX_TIMELINE_STEPS or num_spans > MAX_TIMELINE_SPANS):
                return TimelinePart(items=tuple(items), next_from=row.step)
            items.append(told)
    return TimelinePart(items=tuple(items), next_from=None)


def _step_timeline(row: Row[Any], blob: bytes | None, *, superseded: bool) -> StepTimeline:
    return StepTimeline(
        **{name: getattr(row, name) for name in _OF_STEP},
        superseded=superseded,
        timeline=None if blob is None else TimelineColumns.model_validate(unpack_json(blob)),
    )
