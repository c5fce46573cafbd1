from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.packed_layout import Run, lay_out

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=30)
cp_sizes = st.sampled_from([1, 2, 3, 4, 8])


def test_alone_a_rank_holds_the_samples_back_to_back():
    layout = lay_out([3, 2, 4])
    assert layout.position_ids.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3]
    assert layout.tokens.tolist() == list(range(9))
    assert layout.runs == (Run(0, 0, 3), Run(1, 0, 2), Run(2, 0, 4))
    assert layout.is_whole
    assert layout.num_padding == 0


def test_two_ranks_take_the_ends_and_the_middle_of_each_sample():
    first, second = (lay_out([8, 3], cp_size=2, cp_rank=rank) for rank in range(2))
    assert first.runs == (Run(0, 0, 2), Run(0, 6, 8), Run(1, 0, 2))
    assert second.runs == (Run(0, 2, 6), Run(1, 2, 3))
    assert first.position_ids.tolist() == [0, 1, 6, 7, 0, 1]
    assert second.position_ids.tolist() == [2, 3, 4, 5, 2, 0]
    assert (first.num_padding, second.num_padding) == (0, 1)


def test_the_row_is_padded_to_what_sequence_parallelism_wants():
    layout = lay_out([3, 2, 4], multiple=4)
    assert (layout.num_positions, layout.num_padding) == (12, 3)
    assert layout.position_ids[9:].tolist() == [0, 0, 0]


@given(lengths=lengths, cp_size=cp_sizes, multiple=st.sampled_from([1, 2, 4]))
def test_every_token_stands_on_exactly_one_rank_and_position(lengths, cp_size, multiple):
    layouts = [lay_out(lengths, cp_size=cp_size, cp_rank=rank, multiple=multiple) for rank in range(cp_size)]
    tokens = np.concatenate([layout.tokens for layout in layouts])
    assert sorted(tokens.tolist()) == list(range(sum(lengths)))
    starts = np.cumsum([0, *lengths])
    for rank, layout in enumerate(layouts):
        assert layout.num_positions == layouts[0].num_positions
        assert layout.num_positions % multiple == 0
        held = layout.num_positions - layout.num_padding
        positions = rank * layout.num_positions + np.arange(held)
        assert (layout.position_of_token[layout.tokens] == positions).all()
        owners = np.searchsorted(starts, layout.tokens, side="right") - 1
        assert (layout.position_ids[:held] == layout.tokens - starts[owners]).all()
        assert sum(run.num_tokens for run in layout.runs) == held


@given(lengths=lengths, cp_size=cp_sizes)
def test_ranks_hold_nearly_equal_numbers_of_tokens(lengths, cp_size):
    layouts = [lay_out(lengths, cp_size=cp_size, cp_rank=rank) for rank in range(cp_size)]
    counts = [len(layout.tokens) for layout in layouts]
    assert max(counts) - min(counts) <= 2


@given(length=st.integers(128, 400), cp_size=st.sampled_from([2, 4]))
def test_ranks_share_the_attention_of_a_long_sample_evenly(length, cp_size):
    costs = [
        sum(sum(range(run.first + 1, run.end + 1)) for run in lay_out([length], cp_size=cp_size, cp_rank=rank).runs)
        for rank in range(cp_size)
    ]
    assert max(costs) <= 1.15 * min(costs)
