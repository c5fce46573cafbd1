"""Where the samples of a micro-batch lie: one packed row of tokens, and grids in which attention runs over them.

The row holds the samples back to back, without padding. Attention over many short samples is fastest in a few
rectangles of samples of similar length, so the layout also says how to move tokens between the row and those grids:

    row    a a a b b c c c c          T = 9
    grid   a a a .                    2 samples × width 4 and 1 × 2; each dot is padding
           c c c c   b b

Legend: T tokens of the row, P places in all grids (P ≥ T), B samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]

# A sample joins a grid if that is at most this much longer than the sample: padding costs less than one more kernel.
GRID_SLACK_FRAC = 0.25
GRID_SLACK_TOKENS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedLayout:
    """The layout of one micro-batch."""

    lengths: tuple[int, ...]
    """Tokens of each sample, in the order of the row."""
    positions: Indices  # [T]: each token's position within its sample, as RoPE counts it
    row_of_place: Indices  # [P]: which token of the row stands in each place; padding points to token 0
    place_of_row: Indices  # [T]: the place of each token
    grids: tuple[tuple[int, int], ...]
    """(samples, width) of each grid; their products sum to P."""

    @property
    def num_tokens(self) -> int:
        return int(self.positions.shape[0])

    @property
    def max_length(self) -> int:
        return max(self.lengths)


def lay_out(lengths: tuple[int, ...]) -> PackedLayout:
    """Lay out samples of the given lengths, in that order."""
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    total = int(starts[-1])
    positions = np.arange(total) - np.repeat(starts[:-1], lengths)
    groups = _similar_lengths(lengths)
    widths = [lengths[group[0]] for group in groups]
    places = [_grid(starts, lengths, group, width) for group, width in zip(groups, widths, strict=True)]
    row_of_place = np.concatenate(places)
    place_of_row = np.empty(total, dtype=np.int64)
    is_token = row_of_place >= 0
    place_of_row[row_of_place[is_token]] = np.flatnonzero(is_token)
    return PackedLayout(
        lengths=lengths,
        positions=positions,
        row_of_place=np.maximum(row_of_place, 0),
        place_of_row=place_of_row,
        grids=tuple((len(group), width) for group, width in zip(groups, widths, strict=True)),
    )


def grid_offsets(layout: PackedLayout) -> list[int]:
    """First place of each grid, and P at the end."""
    return [0, *accumulate(samples * width for samples, width in layout.grids)]


def _similar_lengths(lengths: tuple[int, ...]) -> list[list[int]]:
    """Sample indices in groups of similar length, each group and the list of groups from long to short."""
    groups: list[list[int]] = []
    shortest = 0.0
    for sample in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not groups or lengths[sample] < shortest:
            groups.append([])
            shortest = lengths[sample] / (1 + GRID_SLACK_FRAC) - GRID_SLACK_TOKENS
        groups[-1].append(sample)
    return groups


def _grid(starts: Indices, lengths: tuple[int, ...], group: list[int], width: int) -> Indices:
    """[samples × width] row indices of one grid, −1 for padding."""
    columns = np.arange(width)
    members = np.asarray(group)
    rows = starts[members][:, None] + columns  # [samples, width]
    is_token = columns < np.asarray(lengths)[members][:, None]
    return np.where(is_token, rows, -1).ravel()
