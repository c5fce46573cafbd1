"""One step's samples on ranks and in micro-batches: pack, align, distribute, refine. Called by the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from orchestrator.alignment import aligned_count, split_heaviest
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.cost_model import CostModel
from orchestrator.distribution import deal_out, distribute_evenly
from orchestrator.geometry import StepGeometry
from orchestrator.leveling import level_out
from orchestrator.makespan import step_makespan
from orchestrator.makespan_bound import makespan_bound
from orchestrator.micro_batch import MicroBatch, Ranks, SampleLoads, weigh
from orchestrator.order import ordered
from orchestrator.packing import first_fit, first_fit_decreasing
from orchestrator.refinement import Refinement
from orchestrator.rows import even_rows

# Relative distance to its bound at which a makespan counts as reached: far below what a cost model can predict.
TOLERANCE = 1e-3
# With so few micro-batches a rank is rarely balanced by whole ones, and dealing samples out is tried first.
FEW_PER_RANK = 4
# How full ranks may get, at most, when samples are dealt to them: the fuller, the less likely they can be packed.
RANK_FILLINGS = (1.0, 0.97, 0.94, 0.91)


def place(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> Ranks:
    """Micro-batches of one step on its ranks, in no particular order and without dummies.

    lengths: tokens of each sample of the step, at least one.
    """
    loads = _loads(lengths, cost_model, geometry)
    packed = _packed(loads.size.tolist(), geometry)
    count = aligned_count(len(packed), dp_size=geometry.dp_size, count_multiple=geometry.count_multiple)
    if geometry.balance is Balance.NONE:
        return deal_out(split_heaviest(weigh(packed, loads), count, loads), geometry.dp_size)
    if geometry.barrier is Barrier.MICRO_BATCH:
        candidates = _aligned(packed, count, loads, geometry)
        return even_rows(candidates, geometry.dp_size, loads, geometry.cap, moves_samples=_moves_samples(geometry))
    return _balanced(packed, count, loads, geometry)


def _loads(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> SampleLoads:
    num_tokens = np.asarray(lengths, dtype=np.int64)
    by_cost = geometry.balance is Balance.COST
    cost_model = cost_model.per_context_parallel_rank(geometry.cp)
    return SampleLoads(
        size=num_tokens if geometry.micro_batch_size is None else np.ones_like(num_tokens),
        cost=cost_model.costs(lengths) if by_cost else num_tokens.astype(np.float64),
        overhead=cost_model.overhead if by_cost else 0.0,
    )


def _packed(sizes: Sequence[int], geometry: StepGeometry) -> list[list[int]]:
    pack = first_fit_decreasing if geometry.packer is Packer.FIRST_FIT_DECREASING else first_fit
    return pack(sizes, geometry.cap)


def _moves_samples(geometry: StepGeometry) -> bool:
    """Whether samples may change micro-batches for balance: who packs in order of arrival wants neighbours together."""
    return geometry.packer is not Packer.FIRST_FIT


def _balanced(packed: Sequence[list[int]], count: int, loads: SampleLoads, geometry: StepGeometry) -> Ranks:
    """The ranks that are done soonest, with at most `count` micro-batches in all."""
    lightest = (makespan_bound(loads.cost, geometry.dp_size) + loads.overhead) * (1 + TOLERANCE)
    # The bubble of equal micro-batches; 0 without a pipeline.
    bubble = loads.cost.sum() / count * (geometry.pp - 1) / (geometry.pp * geometry.vpp)
    goal = lightest / geometry.pp + bubble
    best: Ranks = []
    least = float("inf")
    for ranks in _candidates(packed, count, loads, geometry):
        Refinement(
            ranks,
            loads=loads,
            cap=geometry.cap,
            most_micro_batches=count,
            equal_counts=not geometry.skips_dummies,
            moves_samples=_moves_samples(geometry),
        ).run(lightest)
        makespan = _makespan(ranks, loads, geometry)
        if makespan < least:
            best, least = ranks, makespan
        if least <= goal:
            break
    return best


def _makespan(ranks: Ranks, loads: SampleLoads, geometry: StepGeometry) -> float:
    dummy_cost = 0.0 if geometry.skips_dummies else loads.overhead
    count = aligned_count(max(map(len, ranks)), dp_size=1, count_multiple=geometry.count_multiple)
    cost = np.full((len(ranks), count), dummy_cost)
    for rank, micro_batches in enumerate(ranks):
        for k, micro_batch in enumerate(ordered(micro_batches, count, geometry.order)):
            if micro_batch is not None:
                cost[rank, k] = micro_batch.cost
    return step_makespan(cost, geometry)


def _aligned(
    packed: Sequence[list[int]], count: int, loads: SampleLoads, geometry: StepGeometry
) -> Iterator[Sequence[MicroBatch]]:
    """The step in `count` micro-batches, or as near to it as its samples allow, in ways worth trying."""
    if _moves_samples(geometry):
        leveled = level_out(range(len(loads.cost)), count, loads, geometry.cap)
        if leveled is not None:
            yield weigh(leveled, loads)
    yield split_heaviest(weigh(packed, loads), count, loads)


def _candidates(packed: Sequence[list[int]], count: int, loads: SampleLoads, geometry: StepGeometry) -> Iterator[Ranks]:
    """Placements to refine, the most promising first; the next is only made when the last misses its goal.

    Refinement changes micro-batches, so each placement has its own.
    """
    few = count <= FEW_PER_RANK * geometry.dp_size
    if few and _moves_samples(geometry):
        yield from _ranks_first(count, loads, geometry)
    if geometry.skips_dummies:
        # Splitting is only worth while it lowers the makespan: each micro-batch also costs what the model leaves out.
        yield distribute_evenly(weigh(packed, loads), geometry.dp_size, most_per_rank=None)
    most_per_rank = None if geometry.skips_dummies else count // geometry.dp_size
    for aligned in _aligned(packed, count, loads, geometry):
        yield distribute_evenly(aligned, geometry.dp_size, most_per_rank=most_per_rank)
    if not few and _moves_samples(geometry):
        yield from _ranks_first(count, loads, geometry)


def _ranks_first(count: int, loads: SampleLoads, geometry: StepGeometry) -> Iterator[Ranks]:
    """Samples dealt to ranks by cost before each rank packs its own: best balanced, but it may need more micro-batches.

    It helps where a rank has so few micro-batches that they cannot be balanced whole.
    """
    most_per_rank = count // geometry.dp_size
    for filling in RANK_FILLINGS:
        room = int(most_per_rank * geometry.cap * filling)
        dealt = level_out(range(len(loads.cost)), geometry.dp_size, loads, room)
        if dealt is None:
            continue
        ranks = [_packed_rank(own, loads, geometry) for own in dealt]
        ranks += [[] for _ in range(geometry.dp_size - len(ranks))]
        if not geometry.skips_dummies:
            ranks = [split_heaviest(rank, most_per_rank, loads) for rank in ranks]
            # A rank of few samples would run a dummy that splitting elsewhere has made needless.
            if max(map(len, ranks)) > most_per_rank or sum(map(len, ranks)) < min(count, len(loads.cost)):
                continue
        if sum(map(len, ranks)) <= count:
            yield ranks
            return


def _packed_rank(samples: Sequence[int], loads: SampleLoads, geometry: StepGeometry) -> list[MicroBatch]:
    packed = _packed(loads.size[samples].tolist(), geometry)
    return weigh([[samples[i] for i in micro_batch] for micro_batch in packed], loads)
