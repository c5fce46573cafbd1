"""Distribution: which data-parallel rank gets which micro-batch."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from orchestrator.placing.micro_batch import MicroBatch, Ranks


def deal_out(micro_batches: Sequence[MicroBatch], dp_size: int) -> Ranks:
    """In turn: micro-batch k goes to rank k mod dp_size."""
    return [list(micro_batches[rank::dp_size]) for rank in range(dp_size)]


def distribute_evenly(micro_batches: Sequence[MicroBatch], dp_size: int, *, most_per_rank: int | None) -> Ranks:
    """Costliest first, each to the rank with the least load that may have another one (Graham 1969).

    most_per_rank: micro-batches of one rank; None: any number. There must be room for all.
    """
    ranks: Ranks = [[] for _ in range(dp_size)]
    heap = [(0.0, rank) for rank in range(dp_size)]
    for micro_batch in sorted(micro_batches, key=lambda micro_batch: -micro_batch.cost):
        load, rank = heap[0]
        ranks[rank].append(micro_batch)
        if len(ranks[rank]) == most_per_rank:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (load + micro_batch.cost, rank))
    return ranks
