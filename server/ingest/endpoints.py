"""Where drivers report. The token of an attempt grants these routes of its run and no others.

They are coroutines: of a plain function the framework would take the answer, too, to a thread and back.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from orchestrator.contracts.checkpoint_messages import CheckpointsBatch
from orchestrator.contracts.log_messages import LogsBatch
from orchestrator.contracts.messages import EventsBatch, Heartbeat, IngestAnswer, StateReport, StepsBatch
from orchestrator.contracts.rollout_messages import RolloutsBatch
from server.auth.access import Access, Principal, requires
from server.dependencies import Asking, Recording, Supervisor
from server.http.guarded_route import GuardedRoute
from server.http.problems import ProblemError

router = APIRouter(prefix="/api/v1/runs/{run_id}", tags=["ingest"], route_class=GuardedRoute)


@router.post("/steps:batch", operation_id="recordSteps")
@requires(Access.INGEST)
async def record_steps(run_id: str, batch: StepsBatch, ingest: Recording, asking: Asking) -> IngestAnswer:
    """Record steps with their schedules, all or none. Repeats are counted as duplicates; other content is a 409."""
    _check(asking, batch.attempt)
    return await run_in_threadpool(ingest.steps, run_id, batch)


@router.post("/events:batch", operation_id="recordEvents")
@requires(Access.INGEST)
async def record_events(run_id: str, batch: EventsBatch, ingest: Recording, asking: Asking) -> IngestAnswer:
    """Record what is worth telling and is not a step, all or none."""
    _check(asking, batch.attempt)
    return await run_in_threadpool(ingest.events, run_id, batch)


@router.post("/rollouts:batch", operation_id="recordRollouts")
@requires(Access.INGEST)
async def record_rollouts(run_id: str, batch: RolloutsBatch, ingest: Recording, asking: Asking) -> IngestAnswer:
    """Record the books of iterations and the rollouts behind them, all or none."""
    _check(asking, batch.attempt)
    return await run_in_threadpool(ingest.rollouts, run_id, batch)


@router.post("/logs:batch", operation_id="recordLogs")
@requires(Access.INGEST)
async def record_logs(run_id: str, batch: LogsBatch, ingest: Recording, asking: Asking) -> IngestAnswer:
    """Record lines of the logs of an attempt's processes, all or none."""
    _check(asking, batch.attempt)
    return await run_in_threadpool(ingest.logs, run_id, batch)


@router.post("/checkpoints:batch", operation_id="recordCheckpoints")
@requires(Access.INGEST)
async def record_checkpoints(run_id: str, batch: CheckpointsBatch, ingest: Recording, asking: Asking) -> IngestAnswer:
    """Record checkpoints that are whole, or have been removed. A later message of a step replaces the earlier one."""
    _check(asking, batch.attempt)
    return await run_in_threadpool(ingest.checkpoints, run_id, batch)


@router.post("/state", operation_id="reportState")
@requires(Access.INGEST)
async def report_state(
    run_id: str, report: StateReport, ingest: Recording, asking: Asking, supervisor: Supervisor
) -> IngestAnswer:
    """The driver's last word on how its attempt ended."""
    _check(asking, report.attempt)
    answer = await run_in_threadpool(ingest.state, run_id, report)
    supervisor.wake()
    return answer


@router.post("/heartbeat", operation_id="reportHeartbeat")
@requires(Access.INGEST)
async def report_heartbeat(run_id: str, beat: Heartbeat, ingest: Recording, asking: Asking) -> IngestAnswer:
    """A sign of life. The answer says what the driver should do."""
    _check(asking, beat.attempt)
    return await run_in_threadpool(ingest.heartbeat, run_id, beat)


def _check(asking: Principal, attempt: int) -> None:
    if not asking.may_record(attempt):
        raise ProblemError(403, "forbidden", f"The token is for attempt {asking.attempt}, not for attempt {attempt}.")
