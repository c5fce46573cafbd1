"""Alignment: raise the number of micro-batches to what the layout needs, by splitting the heaviest ones."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def aligned_count(num_micro_batches: int, *, dp_size: int, count_multiple: int) -> int:
    """The least count that gives every rank equally many micro-batches, a multiple of `count_multiple` each."""
    multiple = dp_size * count_multiple
    return -(-num_micro_batches // multiple) * multiple


def split_heaviest(micro_batches: Sequence[list[int]], costs: Sequence[float], count: int) -> list[list[int]]:
    """Split until there are `count` micro-batches, or as near to it as their samples allow.

    Always the heaviest one of several samples is split, in two parts of about equal cost. costs: of each sample.
    """
    heap = [(-sum(costs[i] for i in micro_batch), k, micro_batch) for k, micro_batch in enumerate(micro_batches)]
    heapq.heapify(heap)
    done: list[tuple[int, list[int]]] = []
    serial = len(heap)
    while heap and len(heap) + len(done) < count:
        _, k, micro_batch = heapq.heappop(heap)
        if len(micro_batch) == 1:
            done.append((k, micro_batch))
            continue
        for part_cost, part in _halves(micro_batch, costs):
            heapq.heappush(heap, (-part_cost, serial, part))
            serial += 1
    done.extend((k, micro_batch) for _, k, micro_batch in heap)
    return [micro_batch for _, micro_batch in sorted(done)]


def _halves(micro_batch: Sequence[int], costs: Sequence[float]) -> tuple[tuple[float, list[int]], ...]:
    """Two parts, none empty: each sample, dearest first, goes to the lighter one."""
    parts: tuple[list[int], list[int]] = ([], [])
    loads = [0.0, 0.0]
    for i in sorted(micro_batch, key=lambda i: (-costs[i], i)):
        lighter = 0 if loads[0] <= loads[1] else 1
        parts[lighter].append(i)
        loads[lighter] += costs[i]
    return (loads[0], parts[0]), (loads[1], parts[1])
