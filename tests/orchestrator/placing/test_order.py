from __future__ import annotations

from orchestrator.placing.micro_batch import MicroBatch
from orchestrator.placing.order import MicroBatchOrder, ordered

RANK = [MicroBatch(samples=[cost], size=cost, cost=float(cost)) for cost in (4, 2, 5, 3)]


def costs_in_order(count: int, order: MicroBatchOrder) -> list[float | None]:
    return [micro_batch and micro_batch.cost for micro_batch in ordered(RANK, count, order)]


def test_largest_first_leaves_dummies_to_the_end() -> None:
    assert costs_in_order(6, MicroBatchOrder.LARGEST_FIRST) == [5, 4, 3, 2, None, None]


def test_small_ends_puts_the_costliest_in_the_middle() -> None:
    assert costs_in_order(4, MicroBatchOrder.SMALL_ENDS) == [2, 4, 5, 3]
    assert costs_in_order(5, MicroBatchOrder.SMALL_ENDS) == [None, 3, 5, 4, 2]
