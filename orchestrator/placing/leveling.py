"""Leveling: the samples of a step in a given number of micro-batches of about equal cost, none above the cap.

Called by the scheduler where there may be more micro-batches than packing needs, or where samples are counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from orchestrator.placing.micro_batch import SampleLoads

# A sample that fits into none of so many least costly micro-batches will hardly fit into a further one.
MOST_TRIES = 32


def level_out(samples: Sequence[int], num_micro_batches: int, loads: SampleLoads, cap: int) -> list[list[int]] | None:
    """Costliest first, each into the least costly micro-batch with room (Graham 1969); None: one finds no room.

    Nothing joins a sample above the cap. With as many samples as micro-batches no micro-batch is empty; the empty ones
    of fewer samples are left out.
    """
    # A costlier sample is never smaller, so that what is costliest also needs most room.
    own = np.asarray(samples, dtype=np.int64)
    descending = own[np.argsort(-loads.cost[own], kind="stable")]
    sizes, costs = loads.size[descending].tolist(), loads.cost[descending].tolist()
    smallest = min(sizes, default=0)
    micro_batches: list[list[int]] = [[] for _ in range(num_micro_batches)]
    room = [cap] * num_micro_batches
    heap = [(0.0, k) for k in range(num_micro_batches)]
    for sample, size, own_cost in zip(descending.tolist(), sizes, costs, strict=True):
        passed: list[tuple[float, int]] = []
        while heap and micro_batches[heap[0][1]] and size > room[heap[0][1]]:
            if len(passed) == MOST_TRIES:
                return None
            passed.append(heapq.heappop(heap))
        if not heap:
            return None
        cost, k = heap[0]
        micro_batches[k].append(sample)
        room[k] -= size
        if room[k] < smallest:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (cost + own_cost, k))
        for other in passed:
            heapq.heappush(heap, other)
    return [micro_batch for micro_batch in micro_batches if micro_batch]
