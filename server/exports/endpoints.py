"""A run as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from server.auth.access import Access, requires
from server.database.engine import Database
from server.dependencies import Reading
from server.exports.formats import ExportFormat, export
from server.history import queries as metric_queries
from server.http.guarded_route import GuardedRoute
from server.runs import queries as run_queries
from server.steps import queries as step_queries
from server.steps.lineage import Segment, run_segments
from server.steps.schemas import StepRow

router = APIRouter(prefix="/api/v1/runs/{run_id}/export", tags=["exports"], route_class=GuardedRoute)

_STEPS_PER_PAGE = 500
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
    format_: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
    superseded: Annotated[bool, Query(description="Also steps that a later attempt trained again.")] = True,
) -> StreamingResponse:
    """Every step of a run with its counts, metrics and weights, first the current view. Schedules are not in it."""
    with database.read() as connection:
        run = run_queries.run_record(connection, run_id)
        key = run_queries.run_key(connection, run.id)
        segments = [s for s in run_segments(connection, key) if superseded or not s.superseded]
        names = [ref.name for ref in metric_queries.metrics(connection, key).values() if ref.metric_id is not None]
    file = export(format_, _pages(database, key, segments), names)
    headers = {"Content-Disposition": f'attachment; filename="{run.id}.{format_}"'}
    return StreamingResponse(file, media_type=format_.media_type, headers=headers)


def _pages(database: Database, run_key: int, segments: list[Segment]) -> Iterator[list[StepRow]]:
    """Each page in a transaction of its own: a slow reader must not keep the database from tidying up."""
    for segment in segments:
        first = segment.first
        while True:
            with database.read() as connection:
                rows = step_queries.segment_page(connection, run_key, segment, first=first, limit=_STEPS_PER_PAGE)
            if not rows:
                break
            yield rows
            first = rows[-1].step + 1
