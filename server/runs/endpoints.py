"""Submit, list, show and cancel runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState
from server.auth.access import Access, requires
from server.dependencies import Reading, Runs, Supervisor
from server.http.guarded_route import GuardedRoute
from server.http.problems import FieldProblem, ProblemError
from server.http.whole_number import WholeNumber
from server.runs import queries
from server.runs.cursor import decode_cursor, encode_cursor
from server.runs.machine_check import check_on_this_machine
from server.runs.queries import RunFilter
from server.runs.schemas import CancelRequest, Run, RunPage

router = APIRouter(prefix="/api/v1/runs", tags=["runs"], route_class=GuardedRoute)


@router.post("", status_code=201, operation_id="createRun")
@requires(Access.ADMIN)
def create_run(spec: RunSpec, runs: Runs, database: Reading, supervisor: Supervisor, response: Response) -> Run:
    """Submit a run. It is checked as far as this machine can, and then waits in the queue."""
    check_on_this_machine(spec)
    run_id = runs.create(spec)
    supervisor.wake()
    response.headers["Location"] = f"/api/v1/runs/{run_id}"
    with database.read() as connection:
        return queries.run_detail(connection, run_id)


@router.get("", operation_id="listRuns")
@requires(Access.READ)
def list_runs(
    database: Reading,
    state: Annotated[list[RunState], Query(description="In any of these states; none: in any.")] = [],  # noqa: B006
    text: Annotated[str | None, Query(max_length=200, description="Part of the name, or the id.")] = None,
    name: Annotated[str | None, Query(max_length=200, description="The whole name.")] = None,
    tag: Annotated[
        list[str], Query(max_length=20, description="`tag=value`, or `tag` for any value; all must match.")
    ] = [],  # noqa: B006
    cursor: Annotated[str | None, Query(max_length=200, description="The next_cursor of the page before.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=500)] = 100,
) -> RunPage:
    """Runs, newest first."""
    unstated = RunFilter(text=text, name=name, tags=tuple(map(_tag, tag)))
    filter_ = RunFilter(states=tuple(state), text=text, name=name, tags=unstated.tags)
    try:
        before = None if cursor is None else decode_cursor(cursor, filter_)
    except ValueError as error:
        problem = FieldProblem(parameter="cursor", detail=str(error))
        raise ProblemError(422, "invalid", f"cursor {error}.", errors=[problem]) from None
    with database.read() as connection:
        items, next_key = queries.page(connection, filter_, before_key=before, limit=limit)
        return RunPage(
            items=tuple(items),
            next_cursor=None if next_key is None else encode_cursor(next_key, filter_),
            total=queries.count(connection, filter_),
            by_state=queries.count_by_state(connection, unstated),
        )


@router.get("/{run_id}", operation_id="getRun")
@requires(Access.READ)
def get_run(run_id: str, database: Reading) -> Run:
    """A run by its id, or the newest one of that name."""
    with database.read() as connection:
        return queries.run_detail(connection, run_id)


@router.post("/{run_id}/cancel", operation_id="cancelRun")
@requires(Access.ADMIN)
def cancel_run(
    run_id: str,
    runs: Runs,
    database: Reading,
    supervisor: Supervisor,
    how: CancelRequest = CancelRequest(),  # noqa: B008
) -> Run:
    """Ask a run to stop: after its step, or at once. It is `cancelled` when no process of it is left."""
    runs.cancel(run_id, how.mode)
    supervisor.wake()
    with database.read() as connection:
        return queries.run_detail(connection, run_id)


def _tag(text: str) -> tuple[str, str | None]:
    tag, equals, value = text.partition("=")
    return tag, value if equals else None
