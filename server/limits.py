"""How much one request may hold or ask for, for clients that send in parts."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator.contracts.checkpoint_messages import CheckpointsBatch
from orchestrator.contracts.log_messages import LogsBatch
from orchestrator.contracts.messages import EventsBatch, StepsBatch
from orchestrator.contracts.plan import MAX_LENGTHS, MAX_PLANNED_STEPS
from orchestrator.contracts.rollout_messages import RolloutsBatch
from server.auth.access import Access, requires
from server.dependencies import Configured
from server.history.schemas import MAX_QUERY_NAMES, MAX_QUERY_POINTS, MAX_QUERY_RUNS
from server.http.guarded_route import GuardedRoute
from trainer.contracts.text_model import TextModel

router = APIRouter(prefix="/api/v1", tags=["health"], route_class=GuardedRoute)


class ServerLimits(TextModel):
    """Most of each."""

    max_body_bytes: int
    """Of a request's body, unpacked; it may be sent with gzip."""
    max_steps_per_batch: int
    max_events_per_batch: int
    max_iterations_per_batch: int
    max_log_lines_per_batch: int
    max_checkpoints_per_batch: int
    max_query_runs: int
    """Of one query for metrics, as are the next two."""
    max_query_names: int
    max_query_points: int
    max_plan_lengths: int
    """Lengths listed in one plan."""
    max_planned_steps: int
    """Steps that a plan tells one by one; more are counted."""
    max_recording_batches: int
    """Batches of records at once; more are answered with 429 and Retry-After."""
    max_queued_writes: int
    """Writes that wait for the database; more are answered with 429 and Retry-After."""
    max_active_runs: int
    """Runs that go on at a time."""


@router.get("/limits", operation_id="getLimits")
@requires(Access.READ)
async def get_limits(settings: Configured) -> ServerLimits:
    """What this server takes at most."""
    return ServerLimits(
        max_body_bytes=settings.max_body_bytes,
        max_steps_per_batch=_most(StepsBatch, "steps"),
        max_events_per_batch=_most(EventsBatch, "events"),
        max_iterations_per_batch=_most(RolloutsBatch, "iterations"),
        max_log_lines_per_batch=_most(LogsBatch, "lines"),
        max_checkpoints_per_batch=_most(CheckpointsBatch, "checkpoints"),
        max_query_runs=MAX_QUERY_RUNS,
        max_query_names=MAX_QUERY_NAMES,
        max_query_points=MAX_QUERY_POINTS,
        max_plan_lengths=MAX_LENGTHS,
        max_planned_steps=MAX_PLANNED_STEPS,
        max_recording_batches=settings.max_recording_batches,
        max_queued_writes=settings.max_queued_writes,
        max_active_runs=settings.max_active_runs,
    )


def _most(model: type[TextModel], field: str) -> int:
    return next(int(bound.max_length) for bound in model.model_fields[field].metadata if hasattr(bound, "max_length"))
