"""What is kept of a run, and what is not."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from server.auth.access import Access, requires
from server.dependencies import Reading, Retention
from server.http.guarded_route import GuardedRoute
from server.retention import queries
from server.retention.schemas import RetentionInfo
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1/runs/{run_id}/retention", tags=["runs"], route_class=GuardedRoute)


@router.get("", operation_id="getRetention")
@requires(Access.READ)
def get_retention(run_id: str, database: Reading, retention: Retention) -> RetentionInfo:
    """How much of a run's large records is kept, and what was taken away."""
    with database.read() as connection:
        pruned = queries.pruned(connection, run_queries.run_key(connection, run_id))
    return RetentionInfo(**asdict(retention.limits), pruned=tuple(pruned))
