"""What the processes of a run wrote to their logs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from orchestrator.contracts.log_messages import LogLevel
from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.problems import FieldProblem, ProblemError
from server.http.whole_number import WholeNumber
from server.logs.queries import LogFilter, newer, older
from server.logs.schemas import LogPage
from server.runs import queries as run_queries
from server.steps.endpoints import MAX_STEP, Attempt

router = APIRouter(prefix="/api/v1/runs/{run_id}/logs", tags=["logs"], route_class=GuardedRoute)


@router.get("", operation_id="listLogs")
@requires(Access.READ)
def list_logs(
    run_id: str,
    database: Reading,
    source: Annotated[str | None, Query(max_length=200, description="Who wrote it.")] = None,
    level: Annotated[LogLevel, Query(description="At least.")] = LogLevel.DEBUG,
    q: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Part of the text, whatever its case.")
    ] = None,
    attempt: Attempt = None,
    before: Annotated[WholeNumber | None, Query(ge=1, le=MAX_STEP, description="Lines with lower ids.")] = None,
    after: Annotated[WholeNumber | None, Query(ge=0, le=MAX_STEP, description="Lines with higher ids.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=2000)] = 200,
) -> LogPage:
    """The newest lines, in the order of arrival; with `before` the newest below an id, with `after` the oldest above.

    A page that is narrowed by `source`, `attempt` or `q` looks at 25,000 lines of each level at most: go on from its
    `next_before` or `next_after`.
    """
    if before is not None and after is not None:
        problem = FieldProblem(parameter="after", detail="give either before or after, not both")
        raise ProblemError(422, "invalid", "before and after: give either of them, not both.", errors=[problem])
    filter_ = LogFilter(level=level, source=source, attempt=attempt, q=q)
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        if after is not None:
            return newer(connection, key, filter_, after=after, limit=limit)
        return older(connection, key, filter_, before=before, limit=limit)
