"""A run as a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from server.auth.access import Access, requires
from server.dependencies import Reading
from server.exports.formats import ExportFormat, export
from server.exports.rollout_tables import iteration_table, rollout_table
from server.exports.schedule_table import schedule_table
from server.exports.step_table import step_table
from server.exports.table import ExportTable
from server.http.guarded_route import GuardedRoute
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1/runs/{run_id}/export", tags=["exports"], route_class=GuardedRoute)


class ExportedPart(StrEnum):
    """What of a run is in the file."""

    STEPS = "steps"
    """Every step with its counts, metrics and weights; JSON lines as `getStep` tells them."""
    SCHEDULES = "schedules"
    """Where each sample of each step ran; JSON lines hold the whole schedule of a step."""
    ITERATIONS = "iterations"
    """The books of every iteration."""
    ROLLOUTS = "rollouts"
    """Every recorded rollout with its texts and tokens."""


_TABLES: dict[ExportedPart, Callable[..., ExportTable[Any]]] = {
    ExportedPart.STEPS: step_table,
    ExportedPart.SCHEDULES: schedule_table,
    ExportedPart.ITERATIONS: iteration_table,
    ExportedPart.ROLLOUTS: rollout_table,
}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as it is written.",
        "content": {format_.media_type.partition(";")[0]: {} for format_ in ExportFormat},
    }
}


@router.get("", operation_id="exportRun", response_class=StreamingResponse, responses=_FILES)
@requires(Access.READ)
def export_run(
    run_id: str,
    database: Reading,
    what: ExportedPart = ExportedPart.STEPS,
    format_: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
    superseded: Annotated[bool, Query(description="Also what a later attempt did again.")] = True,
) -> StreamingResponse:
    """Steps, schedules, iterations or rollouts of a run, whole and exact, first those of the current view."""
    with database.read() as connection:
        run = run_queries.run_record(connection, run_id)
        key = run_queries.run_key(connection, run.id)
    table = _TABLES[what](database, key, superseded=superseded)
    name = run.id if what is ExportedPart.STEPS else f"{run.id}-{what}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format_}"'}
    return StreamingResponse(export(format_, table), media_type=format_.media_type, headers=headers)
