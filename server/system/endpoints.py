"""How busy the machine of a run is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries
from server.system.queries import system_history
from server.system.schemas import SystemHistory

router = APIRouter(prefix="/api/v1/runs/{run_id}/system", tags=["system"], route_class=GuardedRoute)

_LATEST_S = 253_000_000_000
"""In the year 9987, which every part can tell."""


@router.get("", operation_id="getSystem")
@requires(Access.READ)
def get_system(
    run_id: str,
    database: Reading,
    first: Annotated[
        float | None,
        Query(alias="from", ge=0, le=_LATEST_S, allow_inf_nan=False, description="In seconds since 1970-01-01 UTC."),
    ] = None,
    end: Annotated[
        float | None,
        Query(alias="to", ge=0, le=_LATEST_S, allow_inf_nan=False, description="As `from`, itself not included."),
    ] = None,
    max_points: Annotated[
        WholeNumber, Query(ge=2, le=2000, description="With more samples than this they come as buckets.")
    ] = 300,
) -> SystemHistory:
    """CPU, memory, GPUs and generation of the driver's machine over time, in columns."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        return system_history(connection, key, first=_moment(first), end=_moment(end), max_points=max_points)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
