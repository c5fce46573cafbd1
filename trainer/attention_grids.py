"""Rectangles in which attention runs over a packed row on a CPU. Pure.

Attention over many short runs is fastest in a few rectangles of runs of similar size:

    row     a a a b b c c c c
    grids   c c c c   b b         2 runs × width 4 and 1 × 2; each dot is padding
            a a a .

Where a run does not start its sample it attends to more keys than it has queries, and a grid has two widths.

Legend: R positions in the row, T tokens of the micro-batch, P cells for queries and K for keys in all grids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainer.packed_layout import Indices, PackedLayout, Run

# A run joins a grid if that is at most this much longer than the run: padding costs less than one more kernel.
GRID_SLACK_FRAC = 0.25
GRID_SLACK_TOKENS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Runs of similar size, one below the other."""

    runs: tuple[Run, ...]
    num_queries: int
    """Width for queries: the longest run's tokens."""
    num_keys: int
    """Width for keys: the most tokens that a run attends to."""

    @property
    def is_causal(self) -> bool:
        """Whether every run starts its sample: query j then attends to keys 0 … j."""
        return all(run.first == 0 for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPlan:
    """How tokens move between the row and the grids."""

    grids: tuple[Grid, ...]
    row_of_query: Indices  # [P]: the position in the row of each query; padding points to some position
    query_of_row: Indices  # [≤ R]: the query cell of each token of the row
    row_of_key: Indices  # [K]: the position of each key in the rows of all ranks; padding points to some position


def arrange_in_grids(layout: PackedLayout) -> GridPlan:
    """Group a row's runs into grids."""
    grids = tuple(_grid(group) for group in _similar(layout.runs))
    first_positions = np.cumsum([0, *(run.num_tokens for run in layout.runs)])
    position_of_run = dict(zip(layout.runs, first_positions.tolist(), strict=False))
    queries, keys = [], []
    for grid in grids:
        firsts = np.array([position_of_run[run] for run in grid.runs])
        counts, ends = (
            np.array(sizes) for sizes in zip(*((run.num_tokens, run.end) for run in grid.runs), strict=True)
        )
        queries.append(_rectangle(firsts, counts, grid.num_queries))
        keys.append(_rectangle(layout.starts[[run.sample for run in grid.runs]], ends, grid.num_keys))
    row_of_query, token_of_key = _joined(queries), _joined(keys)
    is_query = row_of_query >= 0
    query_of_row = np.empty(layout.tokens.shape[0], dtype=np.int64)
    query_of_row[row_of_query[is_query]] = np.flatnonzero(is_query)
    return GridPlan(
        grids=grids,
        row_of_query=np.maximum(row_of_query, 0),
        query_of_row=query_of_row,
        row_of_key=layout.position_of_token[np.maximum(token_of_key, 0)],
    )


def _similar(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs in groups of similar size, by falling number of keys; those that start their sample by themselves."""
    groups: list[list[Run]] = []
    most_queries = 0
    for run in sorted(runs, key=lambda run: (run.first > 0, -run.end, -run.num_tokens)):
        if groups and _fits(run, groups[-1][0], most_queries):
            groups[-1].append(run)
            most_queries = max(most_queries, run.num_tokens)
        else:
            groups.append([run])
            most_queries = run.num_tokens
    return groups


def _fits(run: Run, leader: Run, most_queries: int) -> bool:
    """Whether a run is similar enough to a group's first, which has the most keys, and to its most queries."""
    return (
        (run.first > 0) == (leader.first > 0)
        and run.end >= _shortest(leader.end)
        and run.num_tokens >= _shortest(most_queries)
        and most_queries >= _shortest(run.num_tokens)
    )


def _shortest(longest: int) -> float:
    return longest / (1 + GRID_SLACK_FRAC) - GRID_SLACK_TOKENS


def _grid(runs: Sequence[Run]) -> Grid:
    return Grid(
        runs=tuple(runs), num_queries=max(run.num_tokens for run in runs), num_keys=max(run.end for run in runs)
    )


def _rectangle(firsts: Indices, counts: Indices, width: int) -> Indices:
    """[rows × width]: in each row counting up from its first, then −1."""
    columns = np.arange(width)
    return np.where(columns < counts[:, None], firsts[:, None] + columns, -1).ravel()


def _joined(parts: Sequence[Indices]) -> Indices:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
