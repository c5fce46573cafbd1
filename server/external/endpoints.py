"""Attempts of external runs. The runs themselves are made like all others, by POST /runs."""

from __future__ import annotations

from fastapi import APIRouter

from server.auth.access import Access, requires
from server.dependencies import Asking, External
from server.external.schemas import ExternalAttempt
from server.http.guarded_route import GuardedRoute

router = APIRouter(prefix="/api/v1/runs/{run_id}/attempts", tags=["runs"], route_class=GuardedRoute)


@router.post("", status_code=201, operation_id="beginAttempt")
@requires(Access.WRITE)
def begin_attempt(run_id: str, external: External, asking: Asking) -> ExternalAttempt:
    """Begin the next attempt of an external run, e.g. after its process died. Older attempts are fenced off."""
    return external.begin_attempt(run_id, by=asking.name)
