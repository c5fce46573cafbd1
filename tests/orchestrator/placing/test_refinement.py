from __future__ import annotations

from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.distribution import deal_out
from orchestrator.placing.micro_batch import Ranks, SampleLoads, rank_costs, weigh
from orchestrator.placing.packing import first_fit_decreasing
from orchestrator.placing.refinement import Refinement, RefinementLimits


def limits_of(**given: Any) -> RefinementLimits:
    return RefinementLimits(**{"cap": 10, "equal_counts": True, "most_searches": 1000, **given})


def refined(packed: list[list[list[int]]], lengths: list[int], **limits: Any) -> Ranks:
    """Ranks of these samples after refinement, balanced by tokens."""
    loads = SampleLoads(size=np.array(lengths), cost=np.array(lengths, dtype=np.float64))
    ranks = [weigh(rank, loads) for rank in packed]
    Refinement(ranks, loads, limits_of(**limits)).run(goal=sum(lengths) / len(ranks))
    return ranks


def test_a_sample_moves_to_where_there_is_room() -> None:
    ranks = refined([[[0, 1, 2]], [[3]]], [4, 3, 3, 4], cap=10, most_micro_batches=2, equal_counts=True)
    assert rank_costs(ranks) == [7, 7]


def test_whole_micro_batches_change_sides_where_no_sample_has_room() -> None:
    ranks = refined([[[0, 1], [2, 3]], [[4], [5]]], [5, 5, 5, 5, 9, 9], cap=10, most_micro_batches=4, equal_counts=True)
    assert rank_costs(ranks) == [19, 19]


def test_two_short_samples_take_the_place_of_a_long_one_where_all_micro_batches_are_full() -> None:
    lengths = [8, 2, 8, 2, 4, 4, 1, 1, 5, 5]
    packed: list[list[list[int]]] = [[[0, 1], [2, 3]], [[4, 5, 6, 7], [8, 9]]]
    cost = np.array(lengths, dtype=np.float64) ** 2
    loads = SampleLoads(size=np.array(lengths), cost=cost)
    ranks = [weigh(rank, loads) for rank in packed]
    assert rank_costs(ranks) == [136, 84]
    Refinement(ranks, loads, limits_of(most_micro_batches=4)).run(goal=110)
    assert max(rank_costs(ranks)) < 136 - 8
    assert all(micro_batch.size == 10 for rank in ranks for micro_batch in rank)


def test_neighbours_stay_together_where_samples_may_not_move() -> None:
    ranks = refined(
        [[[0, 1], [2]], [[3], [4]]],
        [4, 4, 4, 1, 1],
        cap=10,
        most_micro_batches=4,
        equal_counts=True,
        moves_samples=False,
    )
    assert sorted(sorted(micro_batch.samples) for rank in ranks for micro_batch in rank) == [[0, 1], [2], [3], [4]]
    assert sorted(rank_costs(ranks)) == [5, 9]


def test_an_idle_rank_gets_a_new_micro_batch_if_there_may_be_one() -> None:
    packed: list[list[list[int]]] = [[[0, 1]], []]
    limits: dict[str, Any] = {"cap": 10, "equal_counts": False}
    assert rank_costs(refined(deepcopy(packed), [5, 5], most_micro_batches=2, **limits)) == [5, 5]
    assert rank_costs(refined(deepcopy(packed), [5, 5], most_micro_batches=1, **limits)) == [10, 0]


def test_of_many_ranks_that_hold_the_same_lengths_only_one_is_searched() -> None:
    # Rank 0 is too heavy, but no exchange of equal samples helps it.
    loads = SampleLoads(size=np.full(201, 5), cost=np.full(201, 5.0))
    ranks = [weigh([[2 * rank, 2 * rank + 1]], loads) for rank in range(100)]
    ranks[0] += weigh([[200]], loads)
    refinement = Refinement(ranks, loads, limits_of(most_micro_batches=101, equal_counts=False, moves_samples=False))
    assert refinement.run(goal=0.0) == 15
    assert refinement.num_searches == 1


@pytest.mark.parametrize("most_searches", [0, 1, 5])
def test_refinement_ends_with_its_searches(most_searches: int) -> None:
    lengths = list(range(1, 101))
    loads = SampleLoads(size=np.array(lengths), cost=np.array(lengths, dtype=np.float64))
    ranks = deal_out(weigh([[sample] for sample in range(100)], loads), 10)
    limits = limits_of(cap=200, most_micro_batches=100, most_searches=most_searches, moves_samples=False)
    refinement = Refinement(ranks, loads, limits)
    refinement.run(goal=0.0)
    assert refinement.num_searches == most_searches


@pytest.mark.parametrize("equal_counts", [False, True])
@given(data=st.data())
def test_refinement_never_harms(equal_counts: bool, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=60))
    cap, dp_size = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 6))
    # Cost and tokens disagree, as they do under a quadratic cost model.
    cost = np.array(lengths, dtype=np.float64) ** 2
    loads = SampleLoads(size=np.array(lengths), cost=cost)
    ranks = deal_out(weigh(first_fit_decreasing(lengths, cap), loads), dp_size)
    most = sum(map(len, ranks)) if not equal_counts else max(map(len, ranks)) * dp_size
    before, num_before = rank_costs(ranks), sum(map(len, ranks))

    limits = limits_of(cap=cap, most_micro_batches=most, equal_counts=equal_counts)
    makespan = Refinement(ranks, loads, limits).run(goal=0.0)

    assert makespan == max(rank_costs(ranks)) <= max(before)
    micro_batches = list(chain.from_iterable(ranks))
    assert sorted(chain.from_iterable(micro_batch.samples for micro_batch in micro_batches)) == list(
        range(len(lengths))
    )
    assert len(micro_batches) <= most
    if equal_counts:
        assert len(micro_batches) >= num_before
        assert max(map(len, ranks)) <= most // dp_size
    for micro_batch in micro_batches:
        assert micro_batch.size == loads.size[micro_batch.samples].sum()
        assert micro_batch.size <= cap or len(micro_batch.samples) == 1
