"""The record of a step for the server, from what the orchestrator planned and what the trainer tells. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.contracts.messages import (
    BatchDecision,
    MetricMessage,
    NonFinite,
    Phase,
    SampleColumns,
    ScheduleMessage,
    StepMessage,
)
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.contracts.timeline_message import TimelineColumns
from orchestrator.geometry import StepGeometry
from orchestrator.rollouts.rollout_counts import NO_ROLLOUTS, RolloutCounts
from orchestrator.step_figures import StepFigures, measured_makespan_s
from orchestrator.train_items import TrainItem, num_rollouts
from trainer.contracts.metric import Metric, mean
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepRecord
from trainer.contracts.schedule import StepSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedStep:
    """A step that has been trained: plan and outcome together."""

    step: int
    phase: Phase
    iteration: int
    policy_version: int
    """Number of weight updates before it."""
    items: tuple[TrainItem, ...]
    schedule: StepSchedule
    figures: StepFigures
    record: StepRecord
    lr_unit: LrUnit
    geometry: StepGeometry
    zero_variance: ZeroVariancePolicy | None
    """Whether groups without variance count in the denominators; None: the step has no groups."""
    model_flops: float = 0.0
    """Floating-point operations of the samples' forward and backward passes, by the model's shape; nothing that is
    computed twice counts."""

    @property
    def num_rollouts(self) -> int:
        return num_rollouts(self.items)

    @property
    def num_tokens(self) -> int:
        return sum(item.shape.num_tokens for item in self.items)


def step_message(
    trained: TrainedStep,
    *,
    started_at: datetime,
    seconds: float,
    metrics: Mapping[str, Metric],
    counts: RolloutCounts = NO_ROLLOUTS,
    decision: BatchDecision | None = None,
    timeline: TimelineColumns | None = None,
) -> StepMessage:
    """Tell everything about a step.

    seconds: from its start to its end, generation included where it began with that.
    metrics: what the trainer's own record does not know.
    decision: what the step's noise scale said of the coming sizes, under `batch: adaptive`.
    timeline: who did what within these seconds.
    """
    shapes = [item.shape for item in trained.items]
    record, figures = trained.record, trained.figures
    all_metrics = {**record.metrics, **perf_metrics(trained, seconds), **metrics}
    return StepMessage(
        step=trained.step,
        iteration=trained.iteration,
        phase=trained.phase,
        status=record.status,
        started_at=started_at,
        # Not the clock's time at the end: somebody may have set the clock back meanwhile.
        ended_at=started_at + timedelta(seconds=seconds),
        policy_version=trained.policy_version,
        global_batch_size=record.global_batch_size,
        num_prompts=len({shape.group_id for shape in shapes}),
        num_rollouts=trained.num_rollouts,
        num_tokens=trained.num_tokens,
        num_loss_tokens=sum(shape.num_loss_tokens for shape in shapes),
        num_microbatches=trained.schedule.num_microbatches,
        num_dummies=figures.num_dummies,
        num_over_cap=figures.num_over_cap,
        num_generated=counts.num_generated,
        num_filtered=counts.num_filtered,
        num_dropped=counts.num_dropped,
        num_carried_in=counts.num_carried_in,
        num_carried_out=counts.num_carried_out,
        batch_decision=decision,
        lr=record.lr,
        lr_unit=trained.lr_unit,
        lr_position_before=record.lr_position_before,
        lr_position_after=record.lr_position_after,
        predicted_idle_frac=figures.predicted_idle_frac,
        measured_idle_frac=_measured_idle(trained).value or 0.0,
        idle_bound_frac=figures.idle_bound_frac,
        padding_frac=_padding_frac(record),
        metrics={name: metric_message(metric) for name, metric in all_metrics.items()},
        schedule=_schedule_message(trained),
        timeline=timeline,
    )


def _padding_frac(record: StepRecord) -> float:
    """The trainer packs a micro-batch back to back; only the ends of rows are padded, and dummies are nothing else."""
    padding = record.metrics.get("perf/padding_frac")
    return (padding.value if padding is not None else None) or 0.0


def perf_metrics(trained: TrainedStep, seconds: float) -> dict[str, Metric]:
    """Where the time of a step went. Rates weigh by seconds, so that their mean over steps is the whole's rate."""
    return {
        "perf/model_flops_per_s": mean(trained.model_flops, trained.record.train_s),
        "perf/step_s": mean(seconds, 1),
        "perf/train_s": mean(trained.record.train_s, 1),
        "perf/tokens_per_s": mean(trained.num_tokens, seconds),
        "perf/idle_frac": _measured_idle(trained),
    }


def metric_message(metric: Metric) -> MetricMessage:
    """A metric as JSON can hold it."""
    value = metric.value
    return MetricMessage(
        value=None if value is None else _json_number(value), weight=metric.count, reduction=metric.reduction
    )


def _json_number(value: float) -> float | NonFinite:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _measured_idle(trained: TrainedStep) -> Metric:
    """Share of the ranks' time, until the last one is done, in which they wait; no value when nothing was done."""
    micro_batch_s = trained.record.micro_batch_s
    ranks_s = measured_makespan_s(micro_batch_s, trained.geometry) * len(micro_batch_s)
    return mean(max(0.0, ranks_s - sum(map(sum, micro_batch_s))), ranks_s)


def _schedule_message(trained: TrainedStep) -> ScheduleMessage:
    certificate, geometry = trained.schedule.certificate, trained.geometry
    return ScheduleMessage(
        token_cap=geometry.micro_batch_token_cap,
        micro_batch_size=geometry.micro_batch_size,
        packer=geometry.packer,
        balance=geometry.balance,
        barrier=geometry.barrier,
        skips_dummies=geometry.skips_dummies,
        cp=geometry.cp,
        pp=geometry.pp,
        vpp=geometry.vpp,
        zero_variance=trained.zero_variance,
        samples=_sample_columns(trained.items, [str(weight) for weight in certificate.weights]),
        micro_batches=trained.schedule.micro_batches,
        predicted_cost=trained.figures.predicted_cost,
        measured_s=trained.record.micro_batch_s,
        num_positions=trained.record.num_positions,
        sample_cost=trained.figures.sample_cost,
        loss_aggregation=certificate.loss_aggregation,
        certificate_sha256=certificate.sha256,
    )


def _sample_columns(items: Sequence[TrainItem], weights: Sequence[str]) -> SampleColumns:
    shapes = [item.shape for item in items]
    return SampleColumns(
        sample_id=tuple(shape.sample_id for shape in shapes),
        rollout_id=tuple(shape.rollout_id for shape in shapes),
        group_id=tuple(shape.group_id for shape in shapes),
        num_tokens=tuple(shape.num_tokens for shape in shapes),
        num_loss_tokens=tuple(shape.num_loss_tokens for shape in shapes),
        weight=tuple(weights),
        reward=tuple(item.reward for item in items),
        advantage=tuple(item.advantage for item in items),
        policy_version=tuple(item.policy_version for item in items),
        age=tuple(item.age for item in items) if any(item.age for item in items) else (),
    )
