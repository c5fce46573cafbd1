from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.placing.micro_batch import Ranks, SampleLoads, rank_costs, weigh
from orchestrator.placing.rows import even_rows


def rows_of(packed: list[list[int]], lengths: list[int], dp_size: int, *, cap: int = 100, moves: bool = False) -> Ranks:
    loads = SampleLoads(size=np.array(lengths), cost=np.array(lengths, dtype=np.float64))
    return even_rows([weigh(packed, loads)], dp_size, loads, cap, moves_samples=moves)


def time_of(ranks: Ranks) -> float:
    """Sum of the rows' maxima, each rank's micro-batches largest first."""
    rows = [sorted((micro_batch.cost for micro_batch in rank), reverse=True) for rank in ranks]
    return sum(max(rank[k] for rank in rows if k < len(rank)) for k in range(max(map(len, rows))))


def test_alike_micro_batches_run_at_the_same_time_and_totals_are_even() -> None:
    ranks = rows_of([[k] for k in range(6)], [9, 6, 2, 8, 6, 3], 2)
    assert time_of(ranks) == 9 + 6 + 3
    assert sorted(rank_costs(ranks)) == [17, 17]


def test_a_short_last_row_leaves_ranks_to_their_dummies() -> None:
    assert sorted(map(len, rows_of([[0], [1], [2]], [5, 5, 2], 2))) == [1, 2]


def test_samples_change_sides_within_a_row() -> None:
    ranks = rows_of([[0, 1], [2], [3], [4]], [5, 5, 4, 2, 2], 2, moves=True)
    assert time_of(ranks) == 9 + 2


@pytest.mark.parametrize("moves", [True, False])
@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_no_other_rows_of_the_same_micro_batches_are_faster(moves: bool, lengths: list[int]) -> None:
    reached = time_of(rows_of([[k] for k in range(len(lengths))], lengths, 2, moves=moves))
    possible = min(sum(max(order[k : k + 2]) for k in range(0, len(order), 2)) for order in permutations(lengths))
    assert reached == possible
