"""The books of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.ledger import queries
from server.ledger.books import ledger_of
from server.ledger.schemas import Ledger
from server.rollouts import books
from server.runs import queries as run_queries
from server.steps.endpoints import MAX_STEP

router = APIRouter(prefix="/api/v1/runs/{run_id}/ledger", tags=["rollouts"], route_class=GuardedRoute)


@router.get("", operation_id="getLedger")
@requires(Access.READ)
def get_ledger(
    run_id: str,
    database: Reading,
    first: Annotated[
        WholeNumber | None,
        Query(alias="from", ge=0, le=MAX_STEP, description="First step; its iteration is counted as a whole."),
    ] = None,
    end: Annotated[
        WholeNumber | None, Query(alias="to", ge=0, le=MAX_STEP, description="End of the steps, itself not included.")
    ] = None,
    max_flows: Annotated[
        WholeNumber, Query(ge=1, le=1000, description="More iterations than this are put together.")
    ] = 200,
) -> Ledger:
    """What became of all rollouts of the run, or of the iterations that trained a range of steps."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        begin, stop = 0, MAX_STEP
        if first is not None or end is not None:
            first_step, end_step = first or 0, MAX_STEP if end is None else end
            begin, stop = queries.iterations_of_steps(connection, key, first_step, end_step)
        found = books.between(connection, key, begin, stop)
        trained = queries.trained_by_steps(connection, key, begin, stop)
    return ledger_of(found, trained, max_flows=max_flows, begins_at=begin)
