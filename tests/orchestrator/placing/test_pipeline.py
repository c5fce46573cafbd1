from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.micro_batch import MicroBatch
from orchestrator.placing.order import MicroBatchOrder, ordered
from orchestrator.placing.pipeline import BACKWARD_FRAC, FORWARD_FRAC, pipeline_bubble, pipeline_makespan

COSTS = st.lists(st.floats(0.1, 10), min_size=2, max_size=5)


def makespan(cost: list[float], **layout: int) -> float:
    return float(pipeline_makespan(np.array([cost]), **layout)[0])


def every_order(cost: list[float], **layout: int) -> np.ndarray:
    return pipeline_makespan(np.array(list(permutations(cost))), **layout)


def plain_two_stages(cost: list[float]) -> float:
    """Two stages by hand: what each waits for, micro-batch by micro-batch."""
    forward, backward = ([frac / 2 * c for c in cost] for frac in (FORWARD_FRAC, BACKWARD_FRAC))
    first, last = forward[0], forward[0]
    forwarded = first
    for k in range(len(cost)):
        last = max(last, forwarded) + forward[k] + backward[k]
        if k + 1 < len(cost):
            first += forward[k + 1]
            forwarded = first
        first = max(first, last) + backward[k]
    return first


def test_without_a_pipeline_work_is_all_there_is() -> None:
    assert makespan([3, 1, 2], pp=1) == 6


@pytest.mark.parametrize(("pp", "vpp", "count"), [(2, 1, 3), (2, 1, 8), (4, 1, 8), (4, 2, 8), (4, 4, 4), (3, 2, 3)])
def test_equal_micro_batches_wait_as_the_formula_of_narayanan_says(pp: int, vpp: int, count: int) -> None:
    assert makespan([6.0] * count, pp=pp, vpp=vpp) == pytest.approx(6 * (count + (pp - 1) / vpp) / pp)


@pytest.mark.parametrize("pp", [2, 3, 5])
def test_a_single_micro_batch_goes_through_all_stages_alone(pp: int) -> None:
    assert makespan([7.0], pp=pp) == pytest.approx(7)


@given(COSTS)
def test_two_stages_take_as_long_as_by_hand(cost: list[float]) -> None:
    assert makespan(cost, pp=2) == pytest.approx(plain_two_stages(cost))


def test_pipelines_are_judged_side_by_side() -> None:
    both = pipeline_makespan(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), pp=3)
    assert both.tolist() == [makespan([1, 2, 3], pp=3), makespan([3, 2, 1], pp=3)]


@given(COSTS, st.integers(2, 4))
def test_no_order_is_faster_than_work_and_bubble(cost: list[float], pp: int) -> None:
    bound = sum(cost) / pp + pipeline_bubble(np.array(cost), pp=pp)
    assert every_order(cost, pp=pp).min() >= bound * (1 - 1e-12)


@given(st.lists(st.floats(0.1, 10), min_size=4, max_size=4))
def test_no_order_of_an_interleaved_pipeline_is_faster_either(cost: list[float]) -> None:
    bound = sum(cost) / 2 + pipeline_bubble(np.array(cost), pp=2, vpp=2)
    assert every_order(cost, pp=2, vpp=2).min() >= bound * (1 - 1e-12)


def small_ends(cost: list[float]) -> list[float]:
    rank = [MicroBatch(samples=[k], size=1, cost=c) for k, c in enumerate(cost)]
    return [micro_batch.cost for micro_batch in ordered(rank, len(rank), MicroBatchOrder.SMALL_ENDS) if micro_batch]


@given(st.lists(st.floats(1, 5), min_size=2, max_size=6), st.integers(2, 4))
def test_small_ends_come_near_to_the_best_of_all_orders(cost: list[float], pp: int) -> None:
    assert makespan(small_ends(cost), pp=pp) <= 1.12 * every_order(cost, pp=pp).min()


@pytest.mark.parametrize("pp", [2, 3, 4])
def test_small_ends_lose_little_where_any_order_loses_much(pp: int) -> None:
    drawn = np.random.default_rng(pp).lognormal(0, 0.6, (40, 6)).tolist()
    orders = [every_order(cost, pp=pp) for cost in drawn]
    reached = [makespan(small_ends(cost), pp=pp) / times.min() for cost, times in zip(drawn, orders, strict=True)]
    average = [times.mean() / times.min() for times in orders]
    assert np.mean(reached) < 1.025 < 1.12 < np.mean(average)
