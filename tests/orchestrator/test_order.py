from __future__ import annotations

from orchestrator.micro_batch import MicroBatch
from orchestrator.order import MicroBatchOrder, in_order

RANK = [MicroBatch(samples=[cost, cost + 10], size=cost, cost=float(cost)) for cost in (4, 2, 5, 3)]


def test_largest_first_leaves_dummies_to_the_end() -> None:
    ordered = in_order(RANK, 6, MicroBatchOrder.LARGEST_FIRST)
    assert ordered == [[5, 15], [4, 14], [3, 13], [2, 12], [], []]


def test_small_ends_puts_the_costliest_in_the_middle() -> None:
    assert in_order(RANK, 4, MicroBatchOrder.SMALL_ENDS) == [[2, 12], [4, 14], [5, 15], [3, 13]]
    assert in_order(RANK, 5, MicroBatchOrder.SMALL_ENDS) == [[], [3, 13], [5, 15], [4, 14], [2, 12]]
