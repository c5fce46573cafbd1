"""What a run would be before it is submitted, and what a step would have been under other settings."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator.contracts.plan import PlanRequest, RunPlan
from orchestrator.contracts.what_if import WhatIf, WhatIfRequest
from server.auth.access import Access, requires
from server.dependencies import Planning
from server.http.guarded_route import GuardedRoute
from server.planning.draft import DraftPlan, PlanDraft, plan_draft
from server.steps.endpoints import Attempt, StepPath

router = APIRouter(prefix="/api/v1", tags=["planning"], route_class=GuardedRoute)


@router.post("/plan", operation_id="planRun")
@requires(Access.READ)
async def plan_run(request: PlanRequest, planner: Planning) -> RunPlan:
    """The steps that a run would have: sizes, learning rate, micro-batches, idle time. Nothing is started or stored.

    A spec that cannot work is a 422 that names the fields, as when it is submitted.
    """
    return await planner.plan(request)


@router.post("/plan:draft", operation_id="planDraft")
@requires(Access.READ)
async def plan_a_draft(draft: PlanDraft, planner: Planning) -> DraftPlan:
    """The plan of a spec that is still being written: what is wrong with it is an answer, not an error."""
    return await plan_draft(planner, draft)


@router.post("/runs/{run_id}/steps/{step}/whatif", operation_id="whatIf")
@requires(Access.READ)
async def what_if(
    run_id: str, step: StepPath, request: WhatIfRequest, planner: Planning, attempt: Attempt = None
) -> WhatIf:
    """A recorded step scheduled otherwise: the same samples on another layout or under another cut, beside what ran."""
    return await planner.what_if(run_id, step, attempt, request)
