from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.alignment import aligned_count, split_heaviest
from orchestrator.placing.micro_batch import MicroBatch, SampleLoads, weigh


def loads_of(lengths: list[int]) -> SampleLoads:
    return SampleLoads(size=np.array(lengths), cost=np.array(lengths, dtype=np.float64))


def samples_of(micro_batches: list[MicroBatch]) -> list[list[int]]:
    return sorted(sorted(micro_batch.samples) for micro_batch in micro_batches)


@pytest.mark.parametrize(("found", "aligned"), [(1, 6), (6, 6), (7, 12)])
def test_the_count_is_a_multiple_for_every_rank(found: int, aligned: int) -> None:
    assert aligned_count(found, dp_size=2, count_multiple=3) == aligned


def test_the_costliest_is_split_in_equal_parts() -> None:
    loads = loads_of([4, 3, 3, 2, 1, 1])
    split = split_heaviest(weigh([[0, 1, 2, 3], [4, 5]], loads), 3, loads)
    assert samples_of(split) == [[0, 3], [1, 2], [4, 5]]


@given(
    st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=8), min_size=1, max_size=12),
    st.integers(1, 100),
)
def test_splitting_reaches_the_count_as_far_as_samples_allow(lengths: list[list[int]], count: int) -> None:
    numbers = iter(range(sum(map(len, lengths))))
    packed = [[next(numbers) for _ in micro_batch] for micro_batch in lengths]
    loads = loads_of(list(chain.from_iterable(lengths)))
    split = split_heaviest(weigh(packed, loads), count, loads)
    assert len(split) == max(len(packed), min(count, len(loads.cost)))
    assert sorted(chain.from_iterable(micro_batch.samples for micro_batch in split)) == list(range(len(loads.cost)))
    for micro_batch in split:
        assert micro_batch.size == micro_batch.cost == loads.size[micro_batch.samples].sum()
