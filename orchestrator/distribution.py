"""Distribution: which data-parallel rank gets which micro-batch."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

Ranks = list[list[list[int]]]
"""[dp_rank][micro-batch] → sample indices."""


def deal_out(micro_batches: Sequence[list[int]], dp_size: int) -> Ranks:
    """In turn: micro-batch k goes to rank k mod dp_size."""
    return [list(micro_batches[rank::dp_size]) for rank in range(dp_size)]


def distribute_evenly(
    micro_batches: Sequence[list[int]], costs: Sequence[float], *, dp_size: int, most_per_rank: int | None
) -> Ranks:
    """Largest first, each to the least loaded rank that may have another one (Graham 1969).

    costs: of each sample. most_per_rank: micro-batches of one rank; None: any number. There must be room for all.
    """
    weighed = [(sum(costs[i] for i in micro_batch), k) for k, micro_batch in enumerate(micro_batches)]
    weighed.sort(key=lambda pair: (-pair[0], pair[1]))
    ranks: Ranks = [[] for _ in range(dp_size)]
    heap = [(0.0, rank) for rank in range(dp_size)]
    for cost, k in weighed:
        load, rank = heap[0]
        ranks[rank].append(micro_batches[k])
        if len(ranks[rank]) == most_per_rank:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (load + cost, rank))
    return ranks
