"""Rows of equal work: the micro-batches that all ranks run at the same time, where they meet after each of them.

Called by the scheduler under `barrier: micro_batch`. What a row takes is its costliest micro-batch; the rest waits.

    rank 0   9 6 2
    rank 1   8 6 2      9 + 6 + 3; with 9 6 2 / 3 8 6 it would be 9 + 8 + 6
    rank 2   9 5 3
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from orchestrator.placing.leveling import level_out
from orchestrator.placing.micro_batch import MicroBatch, Ranks, SampleLoads, weigh
from orchestrator.placing.refinement import Refinement, RefinementLimits

# Relative distance to its mean at which a row counts as even: a barrier costs about as much.
TOLERANCE = 5e-3
# A row is a small part of a step, and soon as even as it gets.
SEARCHES_PER_MICRO_BATCH = 1
MOST_PARTNERS = 4

Row = list[MicroBatch]
"""One micro-batch of each rank, costliest first; the last row may be shorter."""


def even_rows(
    packings: Iterable[Sequence[MicroBatch]], dp_size: int, loads: SampleLoads, cap: int, *, moves_samples: bool
) -> Ranks:
    """The best of some packings of a step: its micro-batches in rows, samples exchanged within each, dealt to ranks.

    Rows of micro-batches in the order of their cost take the least time that rows of them can: whatever exchanges two
    of different rows makes no row's maximum smaller without making another's as much larger.
    """
    best: list[Row] = []
    least = float("inf")
    for micro_batches in packings:
        rows = _sorted_rows(micro_batches, dp_size)
        if moves_samples:
            rows = [_evened(row, loads, cap) for row in rows]
        if (makespan := sum(map(_makespan, rows))) < least:
            best, least = rows, makespan
    return _to_ranks(best, dp_size)


def _sorted_rows(micro_batches: Sequence[MicroBatch], dp_size: int) -> list[Row]:
    descending = sorted(micro_batches, key=lambda micro_batch: -micro_batch.cost)
    return [descending[first : first + dp_size] for first in range(0, len(descending), dp_size)]


def _evened(row: Row, loads: SampleLoads, cap: int) -> Row:
    """The same samples in as many micro-batches, of costs as equal as exchanges within the cap make them."""
    samples = list(chain.from_iterable(micro_batch.samples for micro_batch in row))
    costliest_sample = max(loads.cost[samples].tolist())
    goal = max(sum(micro_batch.cost for micro_batch in row) / len(row), costliest_sample) * (1 + TOLERANCE)
    if row[0].cost <= goal:
        return row
    leveled = level_out(samples, len(row), loads, cap)
    if leveled is not None and len(leveled) == len(row):
        row = min(row, weigh(leveled, loads), key=_makespan)
    if _makespan(row) > goal:
        ranks = [[micro_batch] for micro_batch in row]
        limits = RefinementLimits(
            cap=cap,
            most_micro_batches=len(row),
            equal_counts=True,
            most_searches=SEARCHES_PER_MICRO_BATCH * len(row),
            most_partners=MOST_PARTNERS,
        )
        Refinement(ranks, loads, limits).run(goal)
        row = list(chain.from_iterable(ranks))
    return sorted(row, key=lambda micro_batch: -micro_batch.cost)


def _makespan(row: Row) -> float:
    return max(micro_batch.cost for micro_batch in row)


def _to_ranks(rows: Sequence[Row], dp_size: int) -> Ranks:
    """Each row's costliest to the rank that has least so far, so that the ranks' totals are even too."""
    ranks: Ranks = [[] for _ in range(dp_size)]
    totals = [0.0] * dp_size
    for row in rows:
        lightest = sorted(range(dp_size), key=totals.__getitem__)
        for micro_batch, rank in zip(row, lightest, strict=False):
            ranks[rank].append(micro_batch)
            totals[rank] += micro_batch.cost
    return ranks
