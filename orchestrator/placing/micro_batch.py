"""What the scheduler moves around: samples with their loads, and the micro-batches that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLoads:
    """What each sample of a step weighs. A larger sample never costs less."""

    size: npt.NDArray[np.int64]  # [N]
    """What counts against the cap of a micro-batch: tokens, or 1 where samples are counted."""
    cost: npt.NDArray[np.float64]  # [N]
    """In the unit that is to be balanced: a cost model's, or tokens."""
    overhead: float = 0.0
    """What a micro-batch costs beside its samples, in the same unit."""


@dataclass(slots=True, kw_only=True)
class MicroBatch:
    """Samples that a rank forwards at once, never none. Mutable: refinement exchanges samples."""

    samples: list[int]
    size: int
    cost: float
    """Overhead included."""


Ranks = list[list[MicroBatch]]
"""[dp_rank] → its micro-batches."""


def weigh(packed: Sequence[list[int]], loads: SampleLoads) -> list[MicroBatch]:
    """Micro-batches of these samples, none empty, with their loads summed."""
    if not packed:
        return []
    flat = np.fromiter(chain.from_iterable(packed), dtype=np.int64)
    first = np.cumsum([0, *map(len, packed[:-1])])
    sizes = np.add.reduceat(loads.size[flat], first).tolist()
    costs = (np.add.reduceat(loads.cost[flat], first) + loads.overhead).tolist()
    return [
        MicroBatch(samples=list(samples), size=size, cost=cost)
        for samples, size, cost in zip(packed, sizes, costs, strict=True)
    ]


def rank_costs(ranks: Iterable[Iterable[MicroBatch]]) -> list[float]:
    """Cost of each rank; the largest is the makespan."""
    return [sum(micro_batch.cost for micro_batch in rank) for rank in ranks]
