"""What is odd about a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from server.advisories.queries import run_facts
from server.advisories.rules import advisories_of
from server.advisories.schemas import AdvisoryReport
from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1/runs/{run_id}/advisories", tags=["advisories"], route_class=GuardedRoute)


@router.get("", operation_id="listAdvisories")
@requires(Access.READ)
def list_advisories(
    run_id: str,
    database: Reading,
    steps: Annotated[WholeNumber, Query(ge=1, le=500, description="How many of the newest steps to look at.")] = 50,
) -> AdvisoryReport:
    """What is odd about the newest steps, with its evidence, what to do, and the step or rollout to look at."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        facts = run_facts(connection, key, num_steps=steps, now=datetime.now(UTC))
    return AdvisoryReport(
        items=advisories_of(facts),
        first_step=facts.steps[0].step if facts.steps else None,
        last_step=facts.steps[-1].step if facts.steps else None,
        num_steps=len(facts.steps),
    )
