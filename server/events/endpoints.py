"""What happened to a run."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from sqlalchemy import select

from server.auth.access import Access, requires
from server.database.tables import events
from server.dependencies import Reading
from server.events.schemas import RunEventOut, RunEventPage
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1/runs/{run_id}/events", tags=["events"], route_class=GuardedRoute)


@router.get("", operation_id="listRunEvents")
@requires(Access.READ)
def list_run_events(
    run_id: str,
    database: Reading,
    after: Annotated[WholeNumber, Query(ge=0, le=2**53 - 1, description="Id of the page before's last event.")] = 0,
    limit: Annotated[WholeNumber, Query(ge=1, le=1000)] = 100,
) -> RunEventPage:
    """Changes of state and the driver's own events, oldest first."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        query = select(events).where(events.c.run_key == key, events.c.id > after).order_by(events.c.id)
        rows = connection.execute(query.limit(limit + 1)).all()
    items = tuple(
        RunEventOut(
            id=row.id,
            attempt=row.attempt,
            kind=row.kind,
            at=row.at,
            message=row.message,
            data=orjson.loads(row.data),
        )
        for row in rows[:limit]
    )
    return RunEventPage(items=items, next_after=items[-1].id if len(rows) > limit else None)
