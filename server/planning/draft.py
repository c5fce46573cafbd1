"""The plan of a spec while somebody types it. `POST /api/v1/plan:draft` calls it; half a spec is no failed request."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from orchestrator.contracts.plan import PlanRequest, RunPlan
from server.errors import InvalidError
from server.http.pointers import field_problems
from server.http.problems import FieldProblem
from server.planning.service import Planner
from trainer.contracts.text_model import TextModel


class PlanDraft(TextModel):
    """A plan request whose spec may still be wrong."""

    request: dict[str, Any]
    """As `POST /api/v1/plan` takes it."""


class DraftPlan(TextModel):
    """The plan, or what has to be changed first. One of both."""

    plan: RunPlan | None
    problems: tuple[FieldProblem, ...]
    """Pointers into the request."""


async def plan_draft(planner: Planner, draft: PlanDraft) -> DraftPlan:
    """Foresee a run where that is possible yet. Raises BusyError when too many wait."""
    try:
        plan = await planner.plan(PlanRequest.model_validate(draft.request))
    except ValidationError as error:
        located = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        return DraftPlan(
            plan=None, problems=tuple(FieldProblem(**told) for told in field_problems(located, draft.request))
        )
    except InvalidError as error:
        refused = tuple(FieldProblem(pointer=pointer, detail=detail) for pointer, detail in error.errors)
        return DraftPlan(plan=None, problems=refused)
    return DraftPlan(plan=plan, problems=())
