"""The steps of a run and their schedules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from orchestrator.contracts.messages import Phase
from server.auth.access import Access, requires
from server.dependencies import Reading
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber
from server.ingest.verify import certificate_of
from server.runs import queries as run_queries
from server.steps import queries
from server.steps.schemas import CertificateOut, StepPage, StepRow, StepScheduleOut

router = APIRouter(prefix="/api/v1/runs/{run_id}/steps", tags=["steps"], route_class=GuardedRoute)

MAX_STEP = 2**53 - 1
StepPath = Annotated[WholeNumber, Path(ge=0, le=MAX_STEP)]
Attempt = Annotated[
    WholeNumber | None,
    Query(ge=1, le=2**31 - 1, description="Of this attempt; else of the one that the run shows."),
]


@router.get("", operation_id="listSteps")
@requires(Access.READ)
def list_steps(
    run_id: str,
    database: Reading,
    first: Annotated[WholeNumber, Query(alias="from", ge=0, le=MAX_STEP, description="First step of the page.")] = 0,
    limit: Annotated[WholeNumber, Query(ge=1, le=1000)] = 100,
    phase: Annotated[Phase | None, Query(description="Only steps of this phase.")] = None,
) -> StepPage:
    """Steps in ascending order, each from the newest attempt that trained it."""
    with database.read() as connection:
        key = run_queries.run_key(connection, run_id)
        items, next_from = queries.page(connection, key, first=first, limit=limit, phase=phase)
        return StepPage(items=tuple(items), next_from=next_from, total=queries.count(connection, key, phase=phase))


@router.get("/{step}", operation_id="getStep")
@requires(Access.READ)
def get_step(run_id: str, step: StepPath, database: Reading, attempt: Attempt = None) -> StepRow:
    """One step without its schedule."""
    with database.read() as connection:
        return queries.step(connection, run_queries.run_key(connection, run_id), step, attempt)


@router.get("/{step}/schedule", operation_id="getStepSchedule")
@requires(Access.READ)
def get_step_schedule(run_id: str, step: StepPath, database: Reading, attempt: Attempt = None) -> StepScheduleOut:
    """Which sample ran on which rank in which micro-batch, with the server's own check of the loss weights."""
    with database.read() as connection:
        run = run_queries.run_record(connection, run_id)
        row, schedule = queries.schedule(connection, run_queries.run_key(connection, run.id), step, attempt)
    certificate = certificate_of(schedule)
    problem = certificate.problem()
    if problem is None and certificate.sha256 != schedule.certificate_sha256:
        problem = f"the weights have the hash {certificate.sha256}, the driver told {schedule.certificate_sha256}"
    return StepScheduleOut(
        run_id=run.id,
        attempt=row.attempt,
        step=row.step,
        global_batch_size=row.global_batch_size,
        num_microbatches=row.num_microbatches,
        schedule=schedule,
        certificate=CertificateOut(
            loss_aggregation=certificate.loss_aggregation,
            total=str(certificate.total),
            holds=problem is None,
            problem=problem,
            sha256=certificate.sha256,
        ),
    )
