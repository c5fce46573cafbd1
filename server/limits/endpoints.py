"""Tells clients how much one request may hold or ask for, so that they send in parts."""

from __future__ import annotations

from fastapi import APIRouter

from orchestrator.contracts.checkpoint_messages import CheckpointsBatch
from orchestrator.contracts.log_messages import LogsBatch
from orchestrator.contracts.messages import EventsBatch, StepsBatch
from orchestrator.contracts.plan import MAX_LENGTHS, MAX_PLANNED_STEPS
from orchestrator.contracts.rollout_messages import MAX_TEXT_CHARS, RolloutsBatch
from server.auth.access import Access, requires
from server.dependencies import Configured
from server.external.schemas import MAX_CONFIG_BYTES
from server.history.schemas import MAX_ANSWER_POINTS, MAX_QUERY_NAMES, MAX_QUERY_POINTS, MAX_QUERY_RUNS
from server.http.guarded_route import GuardedRoute
from server.http.head_bounds import MAX_HEAD_BYTES
from server.ingest.verify import MAX_ADDED, MAX_COUNT
from server.limits.schemas import ServerLimits
from trainer.contracts.text_model import MAX_NESTING, TextModel

router = APIRouter(prefix="/api/v1", tags=["health"], route_class=GuardedRoute)


@router.get("/limits", operation_id="getLimits")
@requires(Access.READ)
async def get_limits(settings: Configured) -> ServerLimits:
    """What this server takes at most, for clients that send in parts."""
    return ServerLimits(
        max_head_bytes=MAX_HEAD_BYTES,
        head_deadline_s=settings.head_deadline_s,
        max_body_bytes=settings.max_body_bytes,
        body_deadline_s=settings.body_deadline_s,
        max_nesting=MAX_NESTING,
        max_config_bytes=MAX_CONFIG_BYTES,
        max_count=MAX_COUNT,
        max_step_samples=MAX_ADDED,
        max_step_tokens=MAX_ADDED,
        max_rollout_text_chars=MAX_TEXT_CHARS,
        max_steps_per_batch=_most(StepsBatch, "steps"),
        max_events_per_batch=_most(EventsBatch, "events"),
        max_iterations_per_batch=_most(RolloutsBatch, "iterations"),
        max_log_lines_per_batch=_most(LogsBatch, "lines"),
        max_checkpoints_per_batch=_most(CheckpointsBatch, "checkpoints"),
        max_query_runs=MAX_QUERY_RUNS,
        max_query_names=MAX_QUERY_NAMES,
        max_query_points=MAX_QUERY_POINTS,
        max_answer_points=MAX_ANSWER_POINTS,
        max_plan_lengths=MAX_LENGTHS,
        max_planned_steps=MAX_PLANNED_STEPS,
        max_recording_batches=settings.max_recording_batches,
        max_queued_writes=settings.max_queued_writes,
        max_active_runs=settings.max_active_runs,
    )


def _most(model: type[TextModel], field: str) -> int:
    return next(int(bound.max_length) for bound in model.model_fields[field].metadata if hasattr(bound, "max_length"))
