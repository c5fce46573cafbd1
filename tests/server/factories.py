"""Builders of what the server is told: specs, and steps whose schedules come from the real scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.contracts.messages import (
    EventMessage,
    MetricMessage,
    Phase,
    SampleColumns,
    ScheduleMessage,
    StateReport,
    StepMessage,
)
from orchestrator.contracts.schedule_spec import Balance
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.metric import Reduction
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN_CAP = 64
IDLE_FRAC = 0.04
"""Of a step: its second rank ends so much earlier than its first that this is the mean of both."""


def spec_json(**changes: Any) -> dict[str, Any]:
    """A RunSpec as a client sends it; `changes` replace whole blocks."""
    return {
        "name": "demo",
        "iterations": 3,
        "model": {
            "type": "scratch",
            "num_layers": 2,
            "hidden_size": 32,
            "num_attention_heads": 4,
            "num_query_groups": 2,
            "ffn_hidden_size": 64,
        },
        "data": {"type": "reasoning_gym", "tasks": [{"name": "spell_backward"}], "rollout_batch_size": 4},
        "rollout": {"group_size": 4, "max_new_tokens": 8},
        "reward": [{"type": "reasoning_gym"}],
        "batch": {"type": "all"},
        "schedule": {"token_cap": TOKEN_CAP},
        "optimizer": {"lr": 1e-3},
        "parallelism": {"dp": 2},
    } | changes


def metric(value: Any, *, weight: float = 1.0, reduction: Reduction = Reduction.MEAN) -> MetricMessage:
    return MetricMessage(value=value, weight=0.0 if value is None else weight, reduction=reduction)


def step_message(
    step: int,
    *,
    lengths: Sequence[int] = (5, 9, 7, 12),
    metrics: Mapping[str, MetricMessage] | None = None,
    **changes: Any,
) -> StepMessage:
    """A step of one sample per length, two to a group, on two ranks. `changes` replace fields, right or wrong."""
    shapes = [
        SampleShape(
            sample_id=f"s{step}.{i}",
            rollout_id=f"r{step}.{i}",
            group_id=f"g{step}.{i // 2}",
            num_tokens=length,
            num_loss_tokens=max(1, length - 2),
        )
        for i, length in enumerate(lengths)
    ]
    fields = _facts(step, shapes) | {"schedule": _schedule(shapes)}
    fields["metrics"] = {"train/loss": metric(1.0 / (1 + step), weight=4.0)} if metrics is None else dict(metrics)
    figures = fields["schedule"].pop("figures")
    return StepMessage.model_validate(fields | figures | changes)


def padded(message: StepMessage, *padding: Sequence[int]) -> StepMessage:
    """The step with so many positions without a token, [dp_rank][micro-batch]."""
    schedule = message.schedule
    assert schedule is not None
    lengths = schedule.samples.num_tokens
    positions = tuple(
        tuple(sum(lengths[i] for i in samples) + more for samples, more in zip(rank, extra, strict=True))
        for rank, extra in zip(schedule.micro_batches, padding, strict=True)
    )
    share = sum(map(sum, padding)) / sum(map(sum, positions))
    told = schedule.model_copy(update={"num_positions": positions})
    return message.model_copy(update={"schedule": told, "padding_frac": share})


def idling(message: StepMessage, idle_frac: float) -> StepMessage:
    """The step with a second rank that waits so long, at most 0.5, in the mean of both."""
    schedule = message.schedule
    assert schedule is not None
    told = schedule.model_copy(update={"measured_s": _times(schedule.micro_batches, idle_frac=idle_frac)})
    return message.model_copy(update={"schedule": told, "measured_idle_frac": idle_frac})


def _facts(step: int, shapes: Sequence[SampleShape]) -> dict[str, Any]:
    started_at = START + timedelta(seconds=step % 10**6)
    return {
        "step": step,
        "iteration": step,
        "phase": Phase.RL,
        "status": StepStatus.TRAINED,
        "started_at": started_at,
        "ended_at": started_at + timedelta(seconds=1),
        "policy_version": step,
        "global_batch_size": len(shapes),
        "num_prompts": len({shape.group_id for shape in shapes}),
        "num_rollouts": len({shape.rollout_id for shape in shapes}),
        "num_tokens": sum(shape.num_tokens for shape in shapes),
        "num_loss_tokens": sum(shape.num_loss_tokens for shape in shapes),
        "num_generated": len(shapes) + 2,
        "num_filtered": 2,
        "num_dropped": 0,
        "num_carried_in": 0,
        "num_carried_out": 0,
        "lr": 1e-3,
        "lr_unit": LrUnit.SAMPLES,
        "lr_position_before": 0,
        "lr_position_after": len(shapes),
        "measured_idle_frac": IDLE_FRAC,
        "padding_frac": 0.0,
    }


def _schedule(shapes: Sequence[SampleShape]) -> dict[str, Any]:
    cost_model = CostModel(linear=1.0, quadratic=0.01)
    geometry = StepGeometry(dp_size=2, token_cap=TOKEN_CAP)
    schedule = build_dp_schedule(
        shapes,
        [range(len(shapes))],
        geometry=geometry,
        cost_model=cost_model,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )
    step = schedule.step(0)
    lengths = [shape.num_tokens for shape in shapes]
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=cost_model)
    message = ScheduleMessage(
        token_cap=TOKEN_CAP,
        balance=Balance.COST,
        skips_dummies=True,
        samples=SampleColumns(
            sample_id=tuple(shape.sample_id for shape in shapes),
            rollout_id=tuple(shape.rollout_id for shape in shapes),
            group_id=tuple(shape.group_id for shape in shapes),
            num_tokens=tuple(lengths),
            num_loss_tokens=tuple(shape.num_loss_tokens for shape in shapes),
            weight=tuple(map(str, step.certificate.weights)),
            reward=(1.0,) * len(shapes),
            advantage=(0.5,) * len(shapes),
            policy_version=(0,) * len(shapes),
        ),
        micro_batches=step.micro_batches,
        predicted_cost=figures.predicted_cost,
        measured_s=_times(step.micro_batches),
        sample_cost=figures.sample_cost,
        loss_aggregation=step.certificate.loss_aggregation,
        certificate_sha256=step.certificate.sha256,
    )
    return message.model_dump() | {
        "figures": {
            "num_microbatches": step.num_microbatches,
            "num_dummies": figures.num_dummies,
            "num_over_cap": figures.num_over_cap,
            "predicted_idle_frac": figures.predicted_idle_frac,
            "idle_bound_frac": figures.idle_bound_frac,
        }
    }


def _times(
    micro_batches: Sequence[Sequence[Sequence[int]]], *, idle_frac: float = IDLE_FRAC
) -> tuple[tuple[float, ...], ...]:
    """Seconds of each micro-batch of two ranks, which have equally many."""
    first, second = micro_batches
    return (0.01,) * len(first), (0.01 * (1 - 2 * idle_frac),) * len(second)


def batch_json(*steps: StepMessage, attempt: int = 1) -> dict[str, Any]:
    """The body of steps:batch."""
    return {"attempt": attempt, "steps": [step.model_dump(mode="json") for step in steps]}


def beat_json(attempt: int) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "at": START.isoformat(),
        "activity": "generating",
        "num_steps": 3,
        "total_steps": 80,
    }


def report_json(outcome: str) -> dict[str, Any]:
    return StateReport.model_validate({"attempt": 1, "outcome": outcome, "at": START}).model_dump(mode="json")


def event_message(key: str, **changes: Any) -> EventMessage:
    return EventMessage.model_validate({"key": key, "kind": "note", "at": START, "message": "m"} | changes)
