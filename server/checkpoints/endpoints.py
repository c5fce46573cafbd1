"""The checkpoints of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from server.auth.access import Access, requires
from server.checkpoints import queries
from server.checkpoints.queries import CheckpointFilter
from server.checkpoints.schemas import CheckpointPage
from server.dependencies import Reading
from server.http.cursor import encode_place, place_of
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1/runs/{run_id}/checkpoints", tags=["checkpoints"], route_class=GuardedRoute)


@router.get("", operation_id="listCheckpoints")
@requires(Access.READ)
def list_checkpoints(
    run_id: str,
    database: Reading,
    removed: Annotated[bool | None, Query(description="Only removed ones, or only those that are there.")] = None,
    attempt: Annotated[WholeNumber | None, Query(ge=1, le=2**31 - 1, description="Only of this attempt.")] = None,
    cursor: Annotated[str | None, Query(max_length=300, description="The next_cursor of the page before.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=500)] = 100,
) -> CheckpointPage:
    """Checkpoints of all attempts, the highest step first."""
    filter_ = CheckpointFilter(removed=removed, attempt=attempt)
    below = place_of(cursor, filter_)
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        items, next_place = queries.page(connection, key, filter_, below=below, limit=limit)
    return CheckpointPage(items=items, next_cursor=None if next_place is None else encode_place(next_place, filter_))
