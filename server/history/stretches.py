"""How a range of steps is read: its middle from rollups, its edges step by step. Pure.

first                          rolled up to                end
  ├─·─┤ 64 ├─ 512 ─┤ 4096 ├─ 512 ─┤ 64 ├─·─┤ ··· points ···┤
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ROLLUP_SIZES = (64, 512, 4096)
"""Steps of a rollup. Each is 8 of the one before, so that a picture of 1,000 buckets reads at most 8,000 rollups."""
FINEST, COARSEST = ROLLUP_SIZES[0], ROLLUP_SIZES[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Steps from `first` up to `end`, read in one way."""

    first: int
    end: int
    num_steps: int
    """Of each rollup; 1: points."""


def stretches(first: int, end: int, *, rolled_up_to: int, coarsest: int = COARSEST) -> Iterator[Stretch]:
    """Cut [first, end) into stretches, by ascending step.

    coarsest: no rollup has more steps than this.

    >>> [(s.first, s.end, s.num_steps) for s in stretches(60, 640, rolled_up_to=600)]
    [(60, 64, 1), (64, 512, 64), (512, 576, 64), (576, 640, 1)]
    """
    sizes = [size for size in ROLLUP_SIZES if size <= coarsest]
    yield from _cut(first, end, rolled_up_to, sizes)


def fitting_size(width: float) -> int:
    """The largest rollup that lies within one bucket of that many steps; 1: none does.

    >>> [fitting_size(width) for width in (32.0, 64.0, 4096.0, 65536.0)]
    [1, 64, 4096, 4096]
    """
    return max((size for size in ROLLUP_SIZES if size <= width), default=1)


def _cut(first: int, end: int, rolled_up_to: int, sizes: list[int]) -> Iterator[Stretch]:
    if first >= end:
        return
    if not sizes:
        yield Stretch(first=first, end=end, num_steps=1)
        return
    size, finer = sizes[-1], sizes[:-1]
    begin, stop = -(-first // size) * size, min(end, rolled_up_to) // size * size
    if begin >= stop:
        yield from _cut(first, end, rolled_up_to, finer)
        return
    yield from _cut(first, begin, rolled_up_to, finer)
    yield Stretch(first=begin, end=stop, num_steps=size)
    yield from _cut(stop, end, rolled_up_to, finer)
