"""What a run would be, before it is submitted."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator.contracts.plan import PlanRequest, RunPlan
from server.auth.access import Access, requires
from server.dependencies import Planning
from server.http.guarded_route import GuardedRoute

router = APIRouter(prefix="/api/v1", tags=["planning"], route_class=GuardedRoute)


@router.post("/plan", operation_id="planRun")
@requires(Access.READ)
async def plan_run(request: PlanRequest, planner: Planning) -> RunPlan:
    """The steps that a run would have: sizes, learning rate, micro-batches, idle time. Nothing is started or stored.

    A spec that cannot work is a 422 that names the fields, as when it is submitted.
    """
    return await planner.plan(request)
