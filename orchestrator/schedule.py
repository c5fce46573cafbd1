"""From the steps of an iteration to ranks and micro-batches: pack, align, distribute, order. Pure and deterministic.

Called by the loop once an iteration, and by whoever asks what a layout would make of given lengths.

    a step's samples ─ pack ─► micro-batches ─ align ─► enough of them ─ distribute, refine ─► ranks ─ order ─► schedule
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from orchestrator.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify
from orchestrator.placing.alignment import aligned_count
from orchestrator.placing.makespan import step_makespan, step_makespan_bound
from orchestrator.placing.order import ordered
from orchestrator.placing.placement import place
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.schedule import DpSchedule, StepSchedule


def build_dp_schedule(
    samples: Sequence[SampleShape],
    steps: Sequence[Sequence[int]],
    *,
    geometry: StepGeometry,
    cost_model: CostModel,
    loss_aggregation: LossAggregation,
    constant_tokens: int | None = None,
) -> DpSchedule:
    """Place every sample of every step on a rank and in a micro-batch, and certify the loss weights of each step.

    steps: indices into `samples`, none empty, none twice (see `cut_into_steps`). A sample in no step is left out.
    constant_tokens: see `certify`.

    Where the trainer skips a dummy at no cost, ranks may have different numbers of real micro-batches; under a token
    cap there are never more than the packer needs, or one a rank if it needs fewer. Otherwise micro-batches are split,
    as far as their samples allow, until no dummy is needed: at most up to the next multiple of dp_size ×
    count_multiple.

    Raises:
        ValueError: a step without samples, or a sample that is in the steps twice.
    """
    _check_steps(steps)
    num_microbatches: list[int] = []
    certificates: list[Certificate] = []
    ordered: list[list[list[int]]] = [[] for _ in range(geometry.dp_size)]
    for step in map(sorted, steps):
        members = [samples[i] for i in step]
        certificates.append(certify(members, loss_aggregation=loss_aggregation, constant_tokens=constant_tokens))
        ranks = step_micro_batches([sample.num_tokens for sample in members], geometry=geometry, cost_model=cost_model)
        num_microbatches.append(len(ranks[0]))
        for micro_batches, rank in zip(ordered, ranks, strict=True):
            micro_batches += [[step[i] for i in own] for own in rank]
    return DpSchedule(
        partitions=tuple(tuple(chain.from_iterable(micro_batches)) for micro_batches in ordered),
        micro_batch_indices=tuple(_tiles(micro_batches) for micro_batches in ordered),
        num_microbatches=tuple(num_microbatches),
        global_batch_sizes=tuple(map(len, steps)),
        certificates=tuple(certificates),
    )


def step_micro_batches(
    lengths: Sequence[int], *, geometry: StepGeometry, cost_model: CostModel
) -> list[list[list[int]]]:
    """[dp_rank][micro-batch] → indices into `lengths`, the tokens of the samples of one step; empty: a dummy."""
    ranks = place(lengths, cost_model, geometry)
    count = aligned_count(max(map(len, ranks)), dp_size=1, count_multiple=geometry.count_multiple)
    return [
        [sorted(micro_batch.samples) if micro_batch else [] for micro_batch in ordered(rank, count, geometry.order)]
        for rank in ranks
    ]


def _check_steps(steps: Sequence[Sequence[int]]) -> None:
    if not all(steps):
        raise ValueError(f"step {[len(step) for step in steps].index(0)} has no samples; leave it out of steps")
    if len(set(chain.from_iterable(steps))) != sum(map(len, steps)):
        raise ValueError("a sample is in the steps twice; each may be in one of them, once")


def _tiles(micro_batches: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The positions of each micro-batch in the rank's partition."""
    tiles, first = [], 0
    for micro_batch in micro_batches:
        tiles.append(tuple(range(first, first + len(micro_batch))))
        first += len(micro_batch)
    return tuple(tiles)


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


def idle_frac(busy_per_rank: Sequence[float]) -> float:
    """Share of the ranks' time, until the last one is done, in which they wait; 0 when nothing was done.

    busy_per_rank: seconds, or any other unit. 9, 6 and 3 give 1 − 18 / 27 = 1/3.
    """
    longest = max(busy_per_rank)
    if longest <= 0:
        return 0.0
    return max(0.0, 1 - sum(busy_per_rank) / (len(busy_per_rank) * longest))
