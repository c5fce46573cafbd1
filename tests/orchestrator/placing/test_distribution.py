from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.distribution import deal_out, distribute_evenly
from orchestrator.placing.micro_batch import MicroBatch, rank_costs


def micro_batches_of(costs: list[int]) -> list[MicroBatch]:
    return [MicroBatch(samples=[k], size=cost, cost=float(cost)) for k, cost in enumerate(costs)]


def test_dealing_out_goes_in_turn() -> None:
    ranks = deal_out(micro_batches_of([1, 2, 3, 4, 5]), 2)
    assert [[micro_batch.samples for micro_batch in rank] for rank in ranks] == [[[0], [2], [4]], [[1], [3]]]


def test_the_costliest_goes_to_the_least_loaded_rank() -> None:
    assert rank_costs(distribute_evenly(micro_batches_of([2, 7, 4, 3]), 2, most_per_rank=None)) == [9, 7]


def test_a_full_rank_gets_no_more() -> None:
    ranks = distribute_evenly(micro_batches_of([9, 1, 1, 1]), 2, most_per_rank=2)
    assert [len(rank) for rank in ranks] == [2, 2]
    assert [len(rank) for rank in distribute_evenly(micro_batches_of([9, 1, 1, 1]), 2, most_per_rank=None)] == [1, 3]


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.integers(1, 8))
def test_the_heaviest_rank_exceeds_the_mean_by_less_than_one_micro_batch(costs: list[int], dp_size: int) -> None:
    # Graham 1969: the rank that ends last was the least loaded when it got its last micro-batch.
    ranks = distribute_evenly(micro_batches_of(costs), dp_size, most_per_rank=None)
    assert max(rank_costs(ranks)) <= sum(costs) / dp_size + max(costs) * (1 - 1 / dp_size) + 1e-9


@pytest.mark.parametrize("dp_size", [1, 3])
def test_every_micro_batch_is_placed_once(dp_size: int) -> None:
    ranks = distribute_evenly(micro_batches_of([3] * 7), dp_size, most_per_rank=7)
    assert sorted(micro_batch.samples[0] for rank in ranks for micro_batch in rank) == list(range(7))
