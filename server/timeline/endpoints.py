"""The timelines of a run's steps."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries
from server.steps.endpoints import MAX_STEP, Attempt, StepPath
from server.timeline import queries
from server.timeline.schemas import StepTimeline, TimelinePart

router = APIRouter(prefix="/api/v1/runs/{run_id}", tags=["timeline"], route_class=GuardedRoute)


@router.get("/steps/{step}/timeline", operation_id="getStepTimeline")
@requires(Access.READ)
def get_step_timeline(run_id: str, step: StepPath, database: Reading, attempt: Attempt = None) -> StepTimeline:
    """Who did what when within a step."""
    with database.read() as connection:
        return queries.step_timeline(connection, run_queries.run_key(connection, run_id), step, attempt)


@router.get("/timeline", operation_id="getTimeline")
@requires(Access.READ)
def get_timeline(
    run_id: str,
    database: Reading,
    first: Annotated[WholeNumber, Query(alias="from", ge=0, le=MAX_STEP, description="First step.")] = 0,
    end: Annotated[
        WholeNumber, Query(alias="to", ge=0, le=MAX_STEP, description="End of the range, itself not included.")
    ] = MAX_STEP,
) -> TimelinePart:
    """Who did what when in consecutive steps: at most 200 of them, and at most 100,000 spans."""
    with database.read() as connection:
        return queries.part(connection, run_queries.run_key(connection, run_id), first=first, end=end)
