"""Who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from server.audit.schemas import AuditPage
from server.auth.access import Access, requires
from server.dependencies import Audit
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber

router = APIRouter(prefix="/api/v1/audit", tags=["access"], route_class=GuardedRoute)


@router.get("", operation_id="listAuditEvents")
@requires(Access.ADMIN)
def list_audit_events(
    audit: Audit,
    before: Annotated[WholeNumber | None, Query(ge=1, le=2**53 - 1, description="Last id of the page before.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=1000)] = 100,
) -> AuditPage:
    """Changes that clients made, newest first. What drivers record is not among them."""
    return audit.page(before=before, limit=limit)
