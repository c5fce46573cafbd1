"""One or two samples for one or two: what is tried between a heavy and a light rank when single samples do not help.

Where micro-batches are full, two short samples can take the place of a long one that costs more than both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from orchestrator.placing.exchange import Aim, SampleExchange, nearest, some_samples
from orchestrator.placing.micro_batch import MicroBatch, SampleLoads

# Among so many on either side some pair hits the wanted saving closely enough; more only cost time.
MOST_BUNDLES = 192
# They make 276 pairs.
MOST_OF_A_MICRO_BATCH = 24


class _Bundle(NamedTuple):
    """Samples of one micro-batch, none or one or two. A tuple, because hundreds are made."""

    samples: tuple[int, ...]
    micro_batch: int
    size: int
    cost: float
    room: int
    """What fits into the micro-batch in their place."""
    is_all: bool
    """Whether the micro-batch has no other samples."""


def best_bundle_exchange(
    heavy: Sequence[MicroBatch], light: Sequence[MicroBatch], aim: Aim, loads: SampleLoads, cap: int
) -> SampleExchange | None:
    """The exchange of up to two samples that comes nearest to the aim within the cap, if one lowers the heavy rank."""
    given, taken = _bundles(heavy, loads, cap, fewest=1), _bundles(light, loads, cap, fewest=0)
    if not given or not taken:
        return None
    saving = np.subtract.outer([bundle.cost for bundle in given], [bundle.cost for bundle in taken])
    forbidden = np.greater.outer([bundle.size for bundle in given], [bundle.room for bundle in taken])
    forbidden |= np.less.outer([bundle.room for bundle in given], [bundle.size for bundle in taken])
    # Micro-batches are neither opened nor closed here.
    forbidden |= np.logical_and.outer([bundle.is_all for bundle in given], [not bundle.samples for bundle in taken])
    found = nearest(np.where(forbidden, 0.0, saving), aim)
    if found is None:
        return None
    miss, row, column = found
    return SampleExchange(
        miss=miss,
        given=given[row].samples,
        giver=given[row].micro_batch,
        taken=taken[column].samples,
        taker=taken[column].micro_batch,
    )


def _bundles(micro_batches: Sequence[MicroBatch], loads: SampleLoads, cap: int, *, fewest: int) -> list[_Bundle]:
    """Those with most room first, as many as are worth a look."""
    sizes, costs = loads.size.item, loads.cost.item
    bundles: list[_Bundle] = []
    for k in sorted(range(len(micro_batches)), key=lambda k: micro_batches[k].size):
        micro_batch = micro_batches[k]
        some = some_samples(micro_batch, MOST_OF_A_MICRO_BATCH)
        room, count = cap - micro_batch.size, len(micro_batch.samples)
        for num_samples in range(fewest, 3):
            for samples in combinations(some, num_samples):
                size = sum(map(sizes, samples))
                bundles.append(_Bundle(samples, k, size, sum(map(costs, samples)), room + size, num_samples == count))
        if len(bundles) >= MOST_BUNDLES:
            break
    return bundles[:MOST_BUNDLES]
