"""Steps of given lengths, scheduled for a model of Qwen3-0.6B's shape, and what their placements come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.placing.packing import first_fit_decreasing
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import StepFigures, step_figures
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule

TOKEN_CAP = 16_384
COST_MODEL = CostModel.from_shape(
    num_layers=28,
    hidden_size=1024,
    num_attention_heads=16,
    num_query_groups=8,
    head_dim=128,
    ffn_hidden_size=3072,
    vocab_size=151_936,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A placement in figures."""

    num_micro_batches: int
    num_over_cap: int
    max_over_mean: float
    """Of the ranks' costs."""


def shapes_of(lengths: Sequence[int]) -> list[SampleShape]:
    return [
        SampleShape(
            sample_id=f"s{i}",
            rollout_id=f"r{i}",
            group_id=f"g{i // 8}",
            num_tokens=length,
            num_loss_tokens=length - length // 4,
        )
        for i, length in enumerate(lengths)
    ]


def schedule_of(samples: Sequence[SampleShape], geometry: StepGeometry) -> DpSchedule:
    return build_dp_schedule(
        samples,
        [range(len(samples))],
        geometry=geometry,
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )


def figures_of(schedule: DpSchedule, lengths: Sequence[int], geometry: StepGeometry) -> StepFigures:
    return step_figures(schedule.step(0), lengths=lengths, geometry=geometry, cost_model=COST_MODEL)


def judge(ranks: Sequence[Sequence[Sequence[int]]], lengths: Sequence[int]) -> Judged:
    """ranks: sample indices by dp_rank and micro-batch."""
    cost = COST_MODEL.costs(lengths).tolist()
    loads = [sum(cost[i] for micro_batch in rank for i in micro_batch) for rank in ranks]
    tokens = [sum(lengths[i] for i in micro_batch) for rank in ranks for micro_batch in rank if micro_batch]
    return Judged(
        num_micro_batches=len(tokens),
        num_over_cap=sum(load > TOKEN_CAP for load in tokens),
        max_over_mean=max(loads) * len(loads) / sum(loads),
    )


def num_first_fit_decreasing(lengths: Sequence[int]) -> int:
    """Micro-batches that first-fit decreasing needs."""
    return len(first_fit_decreasing(lengths, TOKEN_CAP))
