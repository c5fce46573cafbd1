from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.makespan_bound import makespan_bound


def best_makespan(costs: Sequence[float], dp_size: int) -> float:
    """By trying every way to place the samples."""
    placements = product(range(dp_size), repeat=len(costs))
    return min(
        max(sum(cost for cost, own in zip(costs, ranks, strict=True) if own == rank) for rank in range(dp_size))
        for ranks in placements
    )


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 4))
def test_no_placement_is_below_the_bound(costs: list[int], dp_size: int) -> None:
    bound = makespan_bound(np.array(costs, dtype=np.float64), dp_size)
    assert sum(costs) / dp_size <= bound <= best_makespan(costs, dp_size)


@pytest.mark.parametrize(
    ("costs", "dp_size", "bound"),
    [
        ([6, 3, 3], 2, 6),  # the mean
        ([9, 1, 1], 2, 9),  # the costliest sample
        ([5, 5, 5], 2, 10),  # two samples must share a rank
        ([4, 4, 4, 4, 4, 1], 2, 12),  # three must
        ([7], 4, 7),
    ],
)
def test_the_bound_is_met_where_it_can_be(costs: list[float], dp_size: int, bound: float) -> None:
    assert makespan_bound(np.array(costs, dtype=np.float64), dp_size) == bound == best_makespan(costs, dp_size)
