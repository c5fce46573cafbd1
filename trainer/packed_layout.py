"""Which tokens of a micro-batch stand where in the packed rows of its context-parallel ranks. Pure.

A row holds samples back to back, without padding between them:

    row       a a a b b c c c c

Under context parallelism every rank has a row of its own. A sample is cut into 2·cp pieces and each rank takes one from
the front and one from the back, so that all have as many tokens and as much attention; where a sample's pieces differ
by a token, the larger go to the ranks that have fewest. Only the end of a row is padded, up to the longest rank's:

    cp = 2    a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2
    rank 0    a0 a1 a6 a7 b0 b1
    rank 1    a2 a3 a4 a5 b2 .

A run is a stretch of one sample that a rank holds; here rank 0 has three and rank 1 two. Its queries attend to the
sample's keys up to their own position, wherever those are.

Legend: T tokens of the micro-batch, R positions in a rank's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


class Run(NamedTuple):
    """Tokens [first, end) of a sample, counted within it."""

    sample: int
    first: int
    end: int

    @property
    def num_tokens(self) -> int:
        return self.end - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedLayout:
    """One rank's row of one micro-batch."""

    starts: Indices  # [samples]: first token of each sample in the micro-batch
    runs: tuple[Run, ...]
    """What the row holds, in its order."""
    tokens: Indices  # [≤ R]: the token of the micro-batch in each position of the row; padding stands behind them
    num_positions: int
    """R, the same on every context-parallel rank."""
    position_ids: Indices  # [R]: where each token stands within its sample, as RoPE counts it; 0 for padding
    position_of_token: Indices  # [T]: where each token stands when the rows of all ranks lie one behind the other

    @property
    def num_padding(self) -> int:
        """Positions of the row without a token."""
        return self.num_positions - len(self.tokens)

    @property
    def is_whole(self) -> bool:
        """Whether this row holds every token, in the order of the micro-batch."""
        return len(self.tokens) == len(self.position_of_token)


def lay_out(lengths: Sequence[int], *, cp_size: int = 1, cp_rank: int = 0, multiple: int = 1) -> PackedLayout:
    """Lay out samples of the given lengths, in that order, for one context-parallel rank.

    multiple: of what the row's length shall be one, for sequence parallelism.
    """
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    runs_of_rank = _share_out(lengths, cp_size)
    longest = max(sum(run.num_tokens for run in runs) for runs in runs_of_rank)
    num_positions = -(-longest // multiple) * multiple
    position_of_token = np.empty(int(starts[-1]), dtype=np.int64)
    for rank, runs in enumerate(runs_of_rank):
        tokens = _tokens(starts, runs)
        position_of_token[tokens] = rank * num_positions + np.arange(tokens.shape[0])
    runs = runs_of_rank[cp_rank]
    tokens = _tokens(starts, runs)
    position_ids = np.zeros(num_positions, dtype=np.int64)
    position_ids[: tokens.shape[0]] = tokens - np.repeat(
        starts[[run.sample for run in runs]], [run.num_tokens for run in runs]
    )
    return PackedLayout(
        starts=starts[:-1],
        runs=tuple(runs),
        tokens=tokens,
        num_positions=num_positions,
        position_ids=position_ids,
        position_of_token=position_of_token,
    )


def _share_out(lengths: Sequence[int], cp_size: int) -> list[list[Run]]:
    """The runs of each rank, in the order of the samples."""
    if cp_size == 1:
        return [[Run(sample, 0, length) for sample, length in enumerate(lengths)]]
    loads = [0] * cp_size
    runs_of_rank: list[list[Run]] = [[] for _ in range(cp_size)]
    for sample, length in enumerate(lengths):
        bounds = [length * piece // (2 * cp_size) for piece in range(2 * cp_size + 1)]
        pairs = [_pair(sample, bounds, piece) for piece in range(cp_size)]
        pairs.sort(key=lambda pair: -sum(run.num_tokens for run in pair))
        for rank, pair in zip(sorted(range(cp_size), key=loads.__getitem__), pairs, strict=True):
            runs_of_rank[rank] += pair
            loads[rank] += sum(run.num_tokens for run in pair)
    return runs_of_rank


def _pair(sample: int, bounds: Sequence[int], piece: int) -> list[Run]:
    """A piece from the front and its counterpart from the back, as one run where they touch; none that are empty."""
    mirrored = len(bounds) - 2 - piece
    front = Run(sample, bounds[piece], bounds[piece + 1])
    back = Run(sample, bounds[mirrored], bounds[mirrored + 1])
    pieces = [Run(sample, front.first, back.end)] if front.end == back.first else [front, back]
    return [run for run in pieces if run.num_tokens]


def _tokens(starts: Indices, runs: Sequence[Run]) -> Indices:
    """The tokens of the micro-batch that the runs hold, in their order."""
    parts = [np.arange(starts[run.sample] + run.first, starts[run.sample] + run.end) for run in runs]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
