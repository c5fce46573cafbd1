"""One step's samples on ranks and in micro-batches: pack, align, distribute, refine. Called by the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.alignment import aligned_count, split_heaviest
from orchestrator.contracts.schedule_spec import Balance
from orchestrator.cost_model import CostModel
from orchestrator.distribution import deal_out, distribute_evenly
from orchestrator.makespan_bound import makespan_bound
from orchestrator.micro_batch import Ranks, SampleLoads, weigh
from orchestrator.packing import first_fit_decreasing
from orchestrator.refinement import Refinement

# Relative distance to its bound at which a makespan counts as reached: far below what a cost model can predict.
TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the steps of an iteration are scheduled for. See `build_dp_schedule`."""

    dp_size: int
    token_cap: int
    balance: Balance
    count_multiple: int
    skips_dummies: bool

    def __post_init__(self) -> None:
        for name in ("dp_size", "token_cap", "count_multiple"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")


def place(lengths: Sequence[int], cost_model: CostModel, layout: Layout) -> Ranks:
    """Micro-batches of one step on its ranks, in no particular order and without dummies.

    lengths: tokens of each sample of the step, at least one.
    """
    num_tokens = np.asarray(lengths, dtype=np.int64)
    cost = cost_model.costs(lengths) if layout.balance is Balance.COST else num_tokens.astype(np.float64)
    loads = SampleLoads(num_tokens=num_tokens, cost=cost)
    packed = first_fit_decreasing(lengths, layout.token_cap)
    count = aligned_count(len(packed), dp_size=layout.dp_size, count_multiple=layout.count_multiple)
    if layout.balance is Balance.NONE:
        return deal_out(split_heaviest(weigh(packed, loads), count, loads), layout.dp_size)
    return _balanced(packed, count, loads, layout)


def _balanced(packed: Sequence[list[int]], count: int, loads: SampleLoads, layout: Layout) -> Ranks:
    """Ranks of about equal cost with at most `count` micro-batches in all."""
    goal = makespan_bound(loads.cost, layout.dp_size) * (1 + TOLERANCE)
    best: Ranks = []
    least = float("inf")
    for ranks in _candidates(packed, count, loads, layout):
        makespan = Refinement(
            ranks,
            loads=loads,
            token_cap=layout.token_cap,
            most_micro_batches=count,
            equal_counts=not layout.skips_dummies,
        ).run(goal)
        if makespan < least:
            best, least = ranks, makespan
        if least <= goal:
            break
    return best


def _candidates(packed: Sequence[list[int]], count: int, loads: SampleLoads, layout: Layout) -> Iterator[Ranks]:
    """Placements to refine, the most promising first; the next is only made when the last misses its goal."""
    if layout.skips_dummies:
        # Splitting is only worth while it lowers the makespan: each micro-batch also costs what the model leaves out.
        yield distribute_evenly(weigh(packed, loads), layout.dp_size, most_per_rank=None)
    most_per_rank = None if layout.skips_dummies else count // layout.dp_size
    split = split_heaviest(weigh(packed, loads), count, loads)
    yield distribute_evenly(split, layout.dp_size, most_per_rank=most_per_rank)
    ranks = _ranks_first(loads, layout)
    if most_per_rank is not None:
        ranks = [split_heaviest(rank, most_per_rank, loads) for rank in ranks]
        # A rank of few samples would run a dummy that splitting elsewhere has made needless.
        if max(map(len, ranks)) > most_per_rank or sum(map(len, ranks)) < len(split):
            return
    if sum(map(len, ranks)) <= count:
        yield ranks


def _ranks_first(loads: SampleLoads, layout: Layout) -> Ranks:
    """Samples dealt to ranks by cost before each rank packs its own: best balanced, but it may need more micro-batches.

    It helps where a rank has so few micro-batches that they cannot be balanced whole.
    """
    samples = weigh([[sample] for sample in range(len(loads.cost))], loads)
    ranks: Ranks = []
    for own in distribute_evenly(samples, layout.dp_size, most_per_rank=None):
        members = [sample for single in own for sample in single.samples]
        packed = first_fit_decreasing([single.num_tokens for single in own], layout.token_cap)
        ranks.append(weigh([[members[i] for i in micro_batch] for micro_batch in packed], loads))
    return ranks
