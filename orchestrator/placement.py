"""One step's samples on ranks and in micro-batches: pack, align, distribute, refine. Called by the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from orchestrator.alignment import aligned_count, split_heaviest
from orchestrator.contracts.schedule_spec import Balance, Packer
from orchestrator.cost_model import CostModel
from orchestrator.distribution import deal_out, distribute_evenly
from orchestrator.geometry import StepGeometry
from orchestrator.makespan_bound import makespan_bound
from orchestrator.micro_batch import Ranks, SampleLoads, weigh
from orchestrator.packing import first_fit, first_fit_decreasing
from orchestrator.refinement import Refinement

# Relative distance to its bound at which a makespan counts as reached: far below what a cost model can predict.
TOLERANCE = 1e-3


def place(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> Ranks:
    """Micro-batches of one step on its ranks, in no particular order and without dummies.

    lengths: tokens of each sample of the step, at least one.
    """
    loads = _loads(lengths, cost_model, geometry)
    packed = _packed(loads.size.tolist(), geometry)
    count = aligned_count(len(packed), dp_size=geometry.dp_size, count_multiple=geometry.count_multiple)
    if geometry.balance is Balance.NONE:
        return deal_out(split_heaviest(weigh(packed, loads), count, loads), geometry.dp_size)
    return _balanced(packed, count, loads, geometry)


def _loads(lengths: Sequence[int], cost_model: CostModel, geometry: StepGeometry) -> SampleLoads:
    num_tokens = np.asarray(lengths, dtype=np.int64)
    return SampleLoads(
        size=num_tokens if geometry.micro_batch_size is None else np.ones_like(num_tokens),
        cost=cost_model.costs(lengths) if geometry.balance is Balance.COST else num_tokens.astype(np.float64),
    )


def _packed(sizes: Sequence[int], geometry: StepGeometry) -> list[list[int]]:
    pack = first_fit_decreasing if geometry.packer is Packer.FIRST_FIT_DECREASING else first_fit
    return pack(sizes, geometry.cap)


def _balanced(packed: Sequence[list[int]], count: int, loads: SampleLoads, geometry: StepGeometry) -> Ranks:
    """Ranks of about equal cost with at most `count` micro-batches in all."""
    goal = makespan_bound(loads.cost, geometry.dp_size) * (1 + TOLERANCE)
    best: Ranks = []
    least = float("inf")
    for ranks in _candidates(packed, count, loads, geometry):
        makespan = Refinement(
            ranks,
            loads=loads,
            cap=geometry.cap,
            most_micro_batches=count,
            equal_counts=not geometry.skips_dummies,
        ).run(goal)
        if makespan < least:
            best, least = ranks, makespan
        if least <= goal:
            break
    return best


def _candidates(packed: Sequence[list[int]], count: int, loads: SampleLoads, geometry: StepGeometry) -> Iterator[Ranks]:
    """Placements to refine, the most promising first; the next is only made when the last misses its goal."""
    if geometry.skips_dummies:
        # Splitting is only worth while it lowers the makespan: each micro-batch also costs what the model leaves out.
        yield distribute_evenly(weigh(packed, loads), geometry.dp_size, most_per_rank=None)
    most_per_rank = None if geometry.skips_dummies else count // geometry.dp_size
    split = split_heaviest(weigh(packed, loads), count, loads)
    yield distribute_evenly(split, geometry.dp_size, most_per_rank=most_per_rank)
    ranks = _ranks_first(loads, geometry)
    if most_per_rank is not None:
        ranks = [split_heaviest(rank, most_per_rank, loads) for rank in ranks]
        # A rank of few samples would run a dummy that splitting elsewhere has made needless.
        if max(map(len, ranks)) > most_per_rank or sum(map(len, ranks)) < len(split):
            return
    if sum(map(len, ranks)) <= count:
        yield ranks


def _ranks_first(loads: SampleLoads, geometry: StepGeometry) -> Ranks:
    """Samples dealt to ranks by cost before each rank packs its own: best balanced, but it may need more micro-batches.

    It helps where a rank has so few micro-batches that they cannot be balanced whole.
    """
    samples = weigh([[sample] for sample in range(len(loads.cost))], loads)
    ranks: Ranks = []
    for own in distribute_evenly(samples, geometry.dp_size, most_per_rank=None):
        members = [sample for single in own for sample in single.samples]
        packed = _packed([single.size for single in own], geometry)
        ranks.append(weigh([[members[i] for i in micro_batch] for micro_batch in packed], loads))
    return ranks
