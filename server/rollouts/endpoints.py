"""The iterations of a run, and the rollouts behind them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from orchestrator.contracts.rollout_messages import RolloutFate
from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.cursor import encode_place, place_of
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.rollouts import books, heads
from server.rollouts.detail import rollout_detail
from server.rollouts.schemas import IterationPage, RolloutDetail, RolloutPage
from server.rollouts.search import RolloutFilter, search
from server.runs import queries as run_queries
from server.steps.endpoints import MAX_STEP, Attempt

router = APIRouter(prefix="/api/v1/runs/{run_id}", tags=["rollouts"], route_class=GuardedRoute)

Text = Annotated[str | None, Query(max_length=200)]
Number = Annotated[WholeNumber | None, Query(ge=0, le=MAX_STEP)]
Reward = Annotated[float | None, Query(allow_inf_nan=False)]


@router.get("/iterations", operation_id="listIterations")
@requires(Access.READ)
def list_iterations(
    run_id: str,
    database: Reading,
    first: Annotated[WholeNumber, Query(alias="from", ge=0, le=MAX_STEP, description="First of the page.")] = 0,
    limit: Annotated[WholeNumber, Query(ge=1, le=1000)] = 100,
) -> IterationPage:
    """The books of iterations in ascending order, each from the newest attempt that ran it."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        items, next_from = books.page(connection, key, first=first, limit=limit)
        return IterationPage(items=items, next_from=next_from, total=books.count(connection, key))


@router.get("/rollouts", operation_id="listRollouts")
@requires(Access.READ)
def list_rollouts(
    run_id: str,
    database: Reading,
    iteration: Number = None,
    step: Annotated[
        WholeNumber | None,
        Query(ge=0, le=MAX_STEP, description="Trained by this step, whichever iteration they are of."),
    ] = None,
    task: Text = None,
    reward_min: Reward = None,
    reward_max: Reward = None,
    fate: Annotated[
        RolloutFate | None, Query(description="In their own iteration, or in a later one that took them up.")
    ] = None,
    reason: Annotated[str | None, Query(max_length=200, description="Why they were filtered or dropped.")] = None,
    truncated: Annotated[bool | None, Query(description="Whether they ended by length.")] = None,
    q: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="Part of prompt, answer or response, whatever its case."),
    ] = None,
    cursor: Annotated[str | None, Query(max_length=300, description="The next_cursor of the page before.")] = None,
    limit: Annotated[WholeNumber, Query(ge=1, le=100, description="Groups.")] = 20,
) -> RolloutPage:
    """Groups of recorded rollouts, the newest iteration first, with those of their rollouts that match.

    A page looks at 50,000 rollouts at most, or with `q` at 5,000 of them and 20 million characters: `next_cursor` goes
    on from there, and only where it is null there is nothing left.
    """
    filter_ = RolloutFilter(
        iteration=iteration,
        step=step,
        task=task,
        reward_min=reward_min,
        reward_max=reward_max,
        fate=fate,
        reason=reason,
        truncated=truncated,
        q=q,
    )
    after = place_of(cursor, filter_)
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        found = search(connection, key, filter_, after=after, limit=limit)
        return RolloutPage(
            items=heads.groups_of(connection, key, found.groups),
            next_cursor=None if found.next_place is None else encode_place(found.next_place, filter_),
            searched_from=found.searched_from,
            recorded=books.recorded_part(connection, key),
        )


@router.get("/rollouts/{rollout_id:path}", operation_id="getRollout")
@requires(Access.READ)
def get_rollout(run_id: str, rollout_id: str, database: Reading, attempt: Attempt = None) -> RolloutDetail:
    """One rollout with its tokens and where it was trained. One that was never recorded is a 404; one whose texts and
    tokens are not kept any more comes without them.
    """
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        return rollout_detail(connection, run=run_id, run_key=key, rollout_id=rollout_id, attempt=attempt)
