from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.attention_grids import arrange_in_grids
from trainer.packed_layout import lay_out

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=30)


@st.composite
def layouts(draw):
    cp_size = draw(st.sampled_from([1, 2, 3]))
    return lay_out(draw(lengths), cp_size=cp_size, cp_rank=draw(st.integers(0, cp_size - 1)))


@given(layout=layouts())
def test_every_token_of_the_row_has_a_query_cell_of_its_own(layout):
    plan = arrange_in_grids(layout)
    held = len(layout.tokens)
    assert len(set(plan.query_of_row.tolist())) == len(plan.query_of_row) == held
    assert plan.row_of_query[plan.query_of_row].tolist() == list(range(held))


@given(layout=layouts())
def test_a_run_lies_in_one_line_and_its_keys_start_its_sample(layout):
    plan = arrange_in_grids(layout)
    query, key = 0, 0
    seen = []
    for grid in plan.grids:
        for run in grid.runs:
            seen.append(run)
            rows = plan.row_of_query[query : query + run.num_tokens]
            assert (layout.position_ids[rows] == np.arange(run.first, run.end)).all()
            start = layout.starts[run.sample]
            assert (plan.row_of_key[key : key + run.end] == layout.position_of_token[start : start + run.end]).all()
            query, key = query + grid.num_queries, key + grid.num_keys
    assert sorted(seen) == sorted(layout.runs)
    assert (query, key) == (len(plan.row_of_query), len(plan.row_of_key))


@given(lengths=lengths)
def test_padding_stays_small(lengths):
    plan = arrange_in_grids(lay_out(lengths))
    assert all(grid.is_causal and grid.num_queries == grid.num_keys for grid in plan.grids)
    assert len(plan.row_of_query) <= sum(1.25 * (length + 4) for length in lengths) + 1
