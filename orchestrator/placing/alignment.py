"""Alignment: raise the number of micro-batches to what the layout needs, by splitting the heaviest ones."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from orchestrator.placing.micro_batch import MicroBatch, SampleLoads, weigh


def aligned_count(num_micro_batches: int, *, dp_size: int, count_multiple: int) -> int:
    """The least count that gives every rank equally many micro-batches, a multiple of `count_multiple` each."""
    multiple = dp_size * count_multiple
    return -(-num_micro_batches // multiple) * multiple


def split_heaviest(micro_batches: Sequence[MicroBatch], count: int, loads: SampleLoads) -> list[MicroBatch]:
    """Split until there are `count` micro-batches, or as near to it as their samples allow.

    It is always the costliest one of several samples that is split, in two parts of about equal cost.
    """
    missing = count - len(micro_batches)
    whole = [micro_batch for micro_batch in micro_batches if len(micro_batch.samples) == 1]
    # The serial number decides between equal costs, so that the same input gives the same schedule.
    heap = [
        (-micro_batch.cost, serial, micro_batch)
        for serial, micro_batch in enumerate(micro_batches)
        if len(micro_batch.samples) > 1
    ]
    heapq.heapify(heap)
    serial = len(micro_batches)
    while heap and missing > 0:
        *_, heaviest = heapq.heappop(heap)
        for part in _halves(heaviest, loads):
            if len(part.samples) == 1:
                whole.append(part)
            else:
                heapq.heappush(heap, (-part.cost, serial, part))
                serial += 1
        missing -= 1
    return whole + [micro_batch for *_, micro_batch in sorted(heap)]


def _halves(micro_batch: MicroBatch, loads: SampleLoads) -> list[MicroBatch]:
    """Two parts, none empty: each sample, costliest first, goes to the lighter one."""
    cost = {sample: loads.cost.item(sample) for sample in micro_batch.samples}
    parts: tuple[list[int], list[int]] = ([], [])
    part_costs = [0.0, 0.0]
    for sample in sorted(cost, key=lambda sample: (-cost[sample], sample)):
        lighter = 0 if part_costs[0] <= part_costs[1] else 1
        parts[lighter].append(sample)
        part_costs[lighter] += cost[sample]
    return weigh(parts, loads)
