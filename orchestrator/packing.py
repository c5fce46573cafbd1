"""Packing: the samples of a step into as few micro-batches as first-fit decreasing needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def first_fit_decreasing(lengths: Sequence[int], token_cap: int) -> list[list[int]]:
    """Samples of each micro-batch, as first-fit decreasing packs them, in O(N log N).

    First fit puts a sample into the first micro-batch with room. So the first micro-batch ends up with the longest
    sample, then always the longest of the rest that still fits; the second does the same with what is left. Filling
    one after the other gives the very same packing, and never searches among open micro-batches.

    A sample longer than the cap lands alone. Lengths 6, 5, 4, 7, 3, 5 with a cap of 10 give [[3, 4], [0, 2], [1, 5]].
    """
    samples_by_length: dict[int, list[int]] = {}
    for sample in reversed(range(len(lengths))):
        samples_by_length.setdefault(lengths[sample], []).append(sample)
    negated = sorted(-length for length in samples_by_length)  # bisect wants an ascending order
    samples = [samples_by_length[-length] for length in negated]
    # A union-find over the distinct lengths, longest first: from any place it leads to the next with samples left.
    following = list(range(len(negated) + 1))
    micro_batches: list[list[int]] = []
    while True:
        micro_batch: list[int] = []
        room, place = token_cap, 0
        while True:
            while (after := following[place]) != place:
                following[place] = place = following[after]
            if place == len(negated):
                break
            micro_batch.append(samples[place].pop())
            if not samples[place]:
                following[place] = place + 1
            room += negated[place]
            if room <= 0:
                break
            if negated[place] < -room:
                place = bisect_left(negated, -room, place)
        if not micro_batch:
            return micro_batches
        micro_batches.append(micro_batch)
