from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.leveling import level_out
from orchestrator.placing.micro_batch import SampleLoads


def leveled(lengths: list[int], count: int, cap: int) -> list[list[int]] | None:
    loads = SampleLoads(size=np.array(lengths), cost=np.array(lengths, dtype=np.float64))
    return level_out(range(len(lengths)), count, loads, cap)


def test_costs_come_out_equal() -> None:
    assert leveled([6, 5, 4, 3, 2, 1], 3, 10) == [[0, 5], [1, 4], [2, 3]]


def test_what_finds_no_room_is_told() -> None:
    assert leveled([6, 6, 6], 2, 10) is None
    assert leveled([6, 6, 6], 3, 10) == [[0], [1], [2]]


def test_nothing_joins_a_sample_above_the_cap() -> None:
    assert leveled([15, 3, 3, 3], 2, 10) == [[0], [1, 2, 3]]
    assert leveled([15, 3], 1, 10) is None


def test_samples_are_counted_where_each_has_the_size_one() -> None:
    loads = SampleLoads(size=np.ones(5, dtype=np.int64), cost=np.array([9.0, 1.0, 1.0, 1.0, 1.0]))
    assert level_out(range(5), 2, loads, 3) == [[0, 4], [1, 2, 3]]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 12), st.integers(1, 200))
def test_every_sample_has_a_place_below_the_cap(lengths: list[int], count: int, cap: int) -> None:
    micro_batches = leveled(lengths, count, cap)
    if micro_batches is None:
        return
    assert sorted(chain.from_iterable(micro_batches)) == list(range(len(lengths)))
    assert len(micro_batches) == min(count, len(lengths))
    assert all(len(own) == 1 or sum(lengths[i] for i in own) <= cap for own in micro_batches)
