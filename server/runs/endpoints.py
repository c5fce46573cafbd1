"""Submit, list, show and change runs. What else can be done with one is in `wish_endpoints.py`."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from orchestrator.contracts.run_state import RunState
from server.auth.access import Access, requires
from server.dependencies import Asking, External, Reading, Runs, Supervisor
from server.external.schemas import ExternalRunSpec
from server.http.guarded_route import GuardedRoute
from server.http.problems import FieldProblem, ProblemError
from server.http.whole_number import WholeNumber
from server.runs import queries
from server.runs.cursor import decode_cursor, encode_cursor
from server.runs.idempotency import IdempotencyKey
from server.runs.machine_check import check_on_this_machine, refuse_secrets, refuse_secrets_in
from server.runs.new_run import NewRun
from server.runs.queries import RunFilter
from server.runs.schemas import CreatedRun, Run, RunChange, RunPage
from server.runs.shown_run import shown_run
from server.runs.sorting import RunSort, SortKey, SortOrder
from server.runs.version_header import IfMatch, version_of

router = APIRouter(prefix="/api/v1/runs", tags=["runs"], route_class=GuardedRoute)


@router.post("", status_code=201, operation_id="createRun")
@requires(Access.WRITE)
def create_run(
    spec: NewRun,
    runs: Runs,
    external: External,
    database: Reading,
    supervisor: Supervisor,
    asking: Asking,
    response: Response,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="Sent again within a day, it makes no second run."),
    ] = None,
) -> CreatedRun:
    """Submit a run. It is checked as far as this machine can, and then waits in the queue.

    With `kind: external` another framework runs and records it: the answer holds the token of its first attempt.
    """
    key = None
    if idempotency_key is not None:
        content_hash = hashlib.sha256(spec.model_dump_json().encode()).digest()
        key = IdempotencyKey(owner=asking.name, key=idempotency_key, content_hash=content_hash)
    if isinstance(spec, ExternalRunSpec):
        refuse_secrets_in(spec.model_dump(include={"name", "tags"}))
        created = external.create(spec, key)
        run_id, token = created.run_id, created.ingest_token
    else:
        refuse_secrets(spec)
        check_on_this_machine(spec)
        run_id, token = runs.create(spec, key), None
        supervisor.wake()
    response.headers["Location"] = f"/api/v1/runs/{run_id}"
    return CreatedRun(**dict(shown_run(database, run_id, response)), ingest_token=token)


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
    archived: Annotated[bool, Query(description="Also those that are archived.")] = False,
    sort: Annotated[SortKey, Query(description="What they are ordered by; what is not known comes last.")] = (
        SortKey.CREATED
    ),
    order: Annotated[SortOrder, Query(description="Which end of it comes first.")] = SortOrder.DESCENDING,
    cursor: Annotated[str | None, Query(max_length=1000, description="The next_cursor of the page before.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=500)] = 100,
) -> RunPage:
    """Runs, newest first unless told otherwise."""
    unstated = RunFilter(text=text, name=name, tags=tuple(tag), archived=archived)
    filter_ = replace(unstated, states=tuple(state))
    sorted_by = RunSort(key=sort, order=order)
    try:
        after = None if cursor is None else decode_cursor(cursor, filter_, sorted_by)
    except ValueError as error:
        problem = FieldProblem(parameter="cursor", detail=str(error))
        raise ProblemError(422, "invalid", f"cursor {error}.", errors=[problem]) from None
    with database.read() as connection:
        items, next_place = queries.page(connection, filter_, sorted_by, after=after, limit=limit)
        return RunPage(
            items=tuple(items),
            next_cursor=None if next_place is None else encode_cursor(next_place, filter_, sorted_by),
            total=queries.count(connection, filter_),
            by_state=queries.count_by_state(connection, unstated),
        )


@router.get("/{run_id}", operation_id="getRun")
@requires(Access.READ)
def get_run(run_id: str, database: Reading, response: Response) -> Run:
    """A run by its id, or the newest one of that name. Its ETag is its version, for If-Match."""
    return shown_run(database, run_id, response)


@router.patch("/{run_id}", operation_id="changeRun")
@requires(Access.WRITE)
def change_run(
    run_id: str,
    change: RunChange,
    runs: Runs,
    database: Reading,
    supervisor: Supervisor,
    asking: Asking,
    response: Response,
    if_match: IfMatch = None,
) -> Run:
    """Change name, tags or priority, or leave the run out of lists. With If-Match nobody's change is overwritten."""
    refuse_secrets_in(change.model_dump(exclude_unset=True))
    known = shown_run(database, run_id, response)
    runs.change(known.id, change, by=asking.name, version=version_of(if_match))
    supervisor.wake()
    return shown_run(database, known.id, response)
