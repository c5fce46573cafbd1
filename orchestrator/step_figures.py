"""What the cost model says of the schedule of one step: its costs, how long it takes, how much of it ranks wait. Pure.

Called by the loop for the record of a step, and by the plan and the what-if for steps that did not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.contracts.schedule_spec import Barrier
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.placing.makespan import step_makespan, step_makespan_bound
from trainer.contracts.schedule import StepSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """What the cost model says of one step, in its own units."""

    predicted_cost: tuple[tuple[float, ...], ...]
    """[dp_rank][micro-batch], on each context-parallel rank; a pipeline stage has a pp-th of it."""
    sample_cost: tuple[float, ...]
    """By the sample's index within the step, on each context-parallel rank."""
    makespan: float
    """Predicted cost until the last rank is done, waiting included: on a pipeline the stages', with its bubble."""
    predicted_idle_frac: float
    """Share of the ranks' time, until the last one is done, in which they train nothing."""
    idle_bound_frac: float
    """What predicted_idle_frac cannot fall below with as many micro-batches; see `step_makespan_bound`."""
    num_over_cap: int
    """Micro-batches above the token cap: each is one sample that is longer than it."""
    num_dummies: int


def step_figures(
    step: StepSchedule, *, lengths: Sequence[int], geometry: StepGeometry, cost_model: CostModel
) -> StepFigures:
    """Judge the schedule of one step.

    lengths: tokens of each sample, by its index within the step.

    A dummy that runs costs what one token does, and trains nothing.
    """
    cost_model, cap = cost_model.per_context_parallel_rank(geometry.cp), geometry.micro_batch_token_cap
    sample_cost = cost_model.costs(lengths)
    predicted_cost = _predicted_cost(step, sample_cost.tolist(), cost_model, geometry)
    cost = np.array(predicted_cost)
    makespan = step_makespan(cost, geometry)
    bound = step_makespan_bound(cost, sample_cost, geometry, overhead=cost_model.overhead)
    num_real = cost.size - step.num_dummies
    useful = (float(sample_cost.sum()) + num_real * cost_model.overhead) / (geometry.dp_size * geometry.pp)
    predicted_idle_frac = max(0.0, 1 - useful / makespan)
    return StepFigures(
        predicted_cost=predicted_cost,
        sample_cost=tuple(sample_cost.tolist()),
        makespan=makespan,
        predicted_idle_frac=predicted_idle_frac,
        # Sums in another order differ in the last digits; a bound above what was reached would be no bound.
        idle_bound_frac=min(predicted_idle_frac, max(0.0, 1 - useful / bound)),
        num_over_cap=0 if cap is None else step.over_cap(lengths, cap),
        num_dummies=step.num_dummies,
    )


def _predicted_cost(
    step: StepSchedule, sample_cost: Sequence[float], cost_model: CostModel, geometry: StepGeometry
) -> tuple[tuple[float, ...], ...]:
    overhead = cost_model.overhead
    dummy_cost = 0.0 if geometry.skips_dummies else overhead + cost_model.cost(1)
    return tuple(
        tuple(
            overhead + sum([sample_cost[i] for i in micro_batch]) if micro_batch else dummy_cost for micro_batch in rank
        )
        for rank in step.micro_batches
    )


def measured_makespan_s(micro_batch_s: Sequence[Sequence[float]], geometry: StepGeometry) -> float:
    """Seconds until the last rank is done with forward and backward.

    micro_batch_s: measured, by dp_rank and micro-batch, on the slowest rank of those that share it.

    A pipeline's bubble is what these times leave between them when every stage takes as long as the slowest. Ranks meet
    at the step's end, whatever barrier the step was cut for: the trainer has no other.
    """
    stages_s = np.array(micro_batch_s, dtype=np.float64)
    return step_makespan(stages_s * geometry.pp, replace(geometry, barrier=Barrier.STEP))
