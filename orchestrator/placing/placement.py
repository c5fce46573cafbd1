"""One step's samples on ranks and in micro-batches: pack, align, distribute, refine. Called by the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.contracts.schedule_spec import Balance, Barrier
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.placing.alignment import aligned_count
from orchestrator.placing.candidates import PackedStep, candidates, leveled, packed_samples, split
from orchestrator.placing.distribution import deal_out
from orchestrator.placing.makespan import step_makespan
from orchestrator.placing.makespan_bound import makespan_bound
from orchestrator.placing.micro_batch import Ranks, SampleLoads
from orchestrator.placing.order import ordered
from orchestrator.placing.refinement import Refinement, RefinementLimits
from orchestrator.placing.rows import even_rows

# Relative distance to its bound at which a makespan counts as reached: far below what a cost model can predict.
TOLERANCE = 1e-3
# A pipeline stalls a little for every two unlike micro-batches, so that its goal is rarely met as closely.
PIPELINE_TOLERANCE = 3e-2

# A rank takes one or two searches if exchanges help it at all; the more samples, the less does each search matter.
SEARCHES_PER_RANK = 32
MIN_SEARCHES, SAMPLES_PER_SEARCH = 192, 64


def place(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> Ranks:
    """Micro-batches of one step on its ranks, in no particular order and without dummies.

    lengths: tokens of each sample of the step, at least one.
    """
    loads = _loads(lengths, cost_model, geometry)
    packed = packed_samples(loads.size.tolist(), geometry)
    counts = _micro_batch_counts(len(packed), len(lengths), geometry)
    step = PackedStep(packed=packed, count=counts[0], loads=loads, geometry=geometry)
    if geometry.balance is Balance.NONE:
        return deal_out(split(step), geometry.dp_size)
    if geometry.barrier is Barrier.MICRO_BATCH:
        ways = [way for way in (leveled(step), split(step)) if way is not None]
        return even_rows(ways, geometry.dp_size, loads, geometry.cap, moves_samples=step.moves_samples)
    placed = _soonest(step)
    for count in counts[1:]:
        if placed.makespan <= placed.goal:
            break
        # More micro-batches than packing needs have to buy time.
        finer = _soonest(replace(step, count=count))
        if finer.makespan < placed.makespan * (1 - TOLERANCE):
            placed = finer
    return placed.ranks


def _micro_batch_counts(num_packed: int, num_samples: int, geometry: StepGeometry) -> list[int]:
    """The most micro-batches there may be, and more to try where these leave ranks waiting.

    Under a token cap with free dummies, packing's own number comes first, but for a rank that would have none. Where
    dummies run, or samples are counted, ranks come first: a micro-batch is as full as it may be, not as it should be.
    """
    aligned = aligned_count(num_packed, dp_size=geometry.dp_size, count_multiple=geometry.count_multiple)
    if geometry.skips_dummies and geometry.token_cap is not None:
        return sorted({max(num_packed, min(geometry.dp_size, num_samples)), aligned})
    return [aligned]


def _loads(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> SampleLoads:
    num_tokens = np.asarray(lengths, dtype=np.int64)
    by_cost = geometry.balance is Balance.COST
    cost_model = cost_model.per_context_parallel_rank(geometry.cp)
    return SampleLoads(
        size=num_tokens if geometry.micro_batch_size is None else np.ones_like(num_tokens),
        cost=cost_model.costs(lengths) if by_cost else num_tokens.astype(np.float64),
        overhead=cost_model.overhead if by_cost else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    ranks: Ranks
    makespan: float
    goal: float
    """A makespan that is as good as its bound."""


def _soonest(step: PackedStep) -> _Placed:
    """The ranks that are done soonest, with at most `count` micro-batches in all."""
    geometry, loads = step.geometry, step.loads
    mean = (float(loads.cost.sum()) + loads.overhead * len(step.packed)) / geometry.dp_size
    lightest = max(mean, makespan_bound(loads.cost, geometry.dp_size) + loads.overhead) * (1 + TOLERANCE)
    goal = lightest if geometry.pp == 1 else _pipeline_goal(lightest, step)
    limits = RefinementLimits(
        cap=geometry.cap,
        most_micro_batches=step.count,
        equal_counts=not geometry.skips_dummies,
        moves_samples=step.moves_samples,
        most_searches=most_searches(len(loads.cost), geometry.dp_size),
    )
    best: Ranks = []
    least = float("inf")
    for ranks in candidates(step):
        refinement = Refinement(ranks, loads, limits)
        heaviest = refinement.run(lightest)
        limits = replace(limits, most_searches=limits.most_searches - refinement.num_searches)
        makespan = heaviest if geometry.pp == 1 else _pipeline_makespan(ranks, loads, geometry)
        if makespan < least:
            best, least = ranks, makespan
        if least <= goal:
            break
    return _Placed(ranks=best, makespan=least, goal=goal)


def most_searches(num_samples: int, dp_size: int) -> int:
    """Of all refinement of a step together: a bound that keeps its time near that of packing, however many ranks."""
    return min(SEARCHES_PER_RANK * dp_size, MIN_SEARCHES + num_samples // SAMPLES_PER_SEARCH)


def _pipeline_goal(lightest: float, step: PackedStep) -> float:
    """What the lightest heaviest rank takes with the bubble of equal micro-batches."""
    mean = float(step.loads.cost.sum()) / step.count + step.loads.overhead
    bubble = mean * (step.geometry.pp - 1) / step.geometry.vpp
    return (lightest + bubble) / step.geometry.pp * (1 + PIPELINE_TOLERANCE)


def _pipeline_makespan(ranks: Ranks, loads: SampleLoads, geometry: StepGeometry) -> float:
    count = aligned_count(max(map(len, ranks)), dp_size=1, count_multiple=geometry.count_multiple)
    cost = np.full((len(ranks), count), loads.overhead)  # a dummy's
    for rank, micro_batches in enumerate(ranks):
        for k, micro_batch in enumerate(ordered(micro_batches, count, geometry.order)):
            if micro_batch is not None:
                cost[rank, k] = micro_batch.cost
    return step_makespan(cost, geometry)
