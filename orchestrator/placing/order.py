"""The order in which a rank runs its micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from orchestrator.placing.micro_batch import MicroBatch


class MicroBatchOrder(StrEnum):
    """What the order is good for."""

    LARGEST_FIRST = "largest_first"
    """The k-th micro-batches of all ranks are alike, and what does not fit into memory shows at once."""
    SMALL_ENDS = "small_ends"
    """For pipelines: the first and the last micro-batch are what the other stages wait for."""


def ordered(rank: Sequence[MicroBatch], count: int, order: MicroBatchOrder) -> list[MicroBatch | None]:
    """The `count` micro-batches of one rank in the order in which they run; None: a dummy.

    Under `small_ends` real costs 5, 4, 3, 2 and one dummy come as dummy, 3, 5, 4, 2.
    """
    descending: list[MicroBatch | None] = [*sorted(rank, key=lambda micro_batch: -micro_batch.cost)]
    descending += [None] * (count - len(descending))
    if order is MicroBatchOrder.LARGEST_FIRST:
        return descending
    ascending = descending[::-1]
    return ascending[0::2] + ascending[1::2][::-1]
