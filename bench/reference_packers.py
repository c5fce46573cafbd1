"""What others do, written plainly: arrival-order first fit, and Karmarkar–Karp straight into micro-batches."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

Bins = list[list[int]]
"""Sample indices of each bin."""


def arrival_first_fit(lengths: Sequence[int], token_cap: int) -> Bins:
    """Each sample, as it comes, into the first bin with room. Quadratic: it looks at every bin."""
    bins: Bins = []
    rooms: list[int] = []
    for sample, length in enumerate(lengths):
        for k, room in enumerate(rooms):
            if length <= room:
                bins[k].append(sample)
                rooms[k] -= length
                break
        else:
            bins.append([sample])
            rooms.append(token_cap - length)
    return bins


def karmarkar_karp(weights: Sequence[float], num_bins: int) -> Bins:
    """Largest differencing (Karmarkar and Karp 1982) for `num_bins` bins. It balances and knows no cap.

    Every sample begins as a partition of its own; the two with the largest spread are merged, the heaviest bin of one
    with the lightest of the other, until one is left.
    """
    empty: list[tuple[float, list[int]]] = [(0.0, []) for _ in range(num_bins - 1)]
    heap = [(-weight, sample, [*empty, (weight, [sample])]) for sample, weight in enumerate(weights)]
    heapq.heapify(heap)
    serial = len(heap)
    while len(heap) > 1:
        _, _, one = heapq.heappop(heap)
        _, _, other = heapq.heappop(heap)
        merged = [(a + b, left + right) for (a, left), (b, right) in zip(one, reversed(other), strict=True)]
        merged.sort(key=lambda part: part[0])
        heapq.heappush(heap, (merged[0][0] - merged[-1][0], serial, merged))
        serial += 1
    return [part for _, part in heap[0][2]]
