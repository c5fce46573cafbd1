from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.packed_layout import grid_offsets, lay_out

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=30).map(tuple)


def test_worked_example():
    layout = lay_out((3, 2, 4))
    assert layout.positions.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3]
    assert layout.max_length == 4
    assert layout.num_tokens == 9


@given(lengths=lengths)
def test_every_token_has_a_place_of_its_own_behind_its_predecessor(lengths):
    layout = lay_out(lengths)
    places = layout.place_of_row
    assert len(set(places.tolist())) == layout.num_tokens == sum(lengths)
    assert layout.row_of_place[places].tolist() == list(range(layout.num_tokens))
    follows = layout.positions[1:] > 0
    assert (places[1:][follows] == places[:-1][follows] + 1).all()


@given(lengths=lengths)
def test_a_sample_starts_a_row_of_its_grid_and_fits_in_it(lengths):
    layout = lay_out(lengths)
    offsets = grid_offsets(layout)
    assert offsets[-1] == layout.row_of_place.shape[0]
    assert sum(samples for samples, _ in layout.grids) == len(lengths)
    starts = np.cumsum([0, *lengths])[:-1]
    for start, length in zip(starts, lengths, strict=True):
        place = layout.place_of_row[start]
        grid = np.searchsorted(offsets, place, side="right") - 1
        width = layout.grids[grid][1]
        assert (place - offsets[grid]) % width == 0
        assert length <= width


@given(lengths=lengths)
def test_padding_stays_small(lengths):
    layout = lay_out(lengths)
    for samples, width in layout.grids:
        assert samples >= 1
        assert width in lengths
    assert layout.row_of_place.shape[0] <= sum(1.25 * (length + 4) for length in lengths) + 1
