"""Packing: the samples of a step into as few micro-batches as first-fit decreasing needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def first_fit_decreasing(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Samples of each micro-batch, as first-fit decreasing packs them, in O(N log N).

    First fit puts a sample into the first micro-batch with room. So the first micro-batch ends up with the largest
    sample, then always the largest of the rest that still fits; the second does the same with what is left. Filling
    one after the other gives the very same packing, and never searches among open micro-batches.

    A sample larger than the cap lands alone. Sizes 6, 5, 4, 7, 3, 5 with a cap of 10 give [[3, 4], [0, 2], [1, 5]].
    """
    samples_by_size: dict[int, list[int]] = {}
    for sample in reversed(range(len(sizes))):
        samples_by_size.setdefault(sizes[sample], []).append(sample)
    negated = sorted(-size for size in samples_by_size)  # bisect wants an ascending order
    samples = [samples_by_size[-size] for size in negated]
    # A union-find over the distinct sizes, largest first: from any place it leads to the next with samples left.
    following = list(range(len(negated) + 1))
    micro_batches: list[list[int]] = []
    while True:
        micro_batch: list[int] = []
        room, place = cap, 0
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


def first_fit(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Samples of each micro-batch, each put in order of arrival into the first one with room, in O(N log N).

    A sample larger than the cap lands alone. Sizes 6, 5, 4, 7, 3, 5 with a cap of 10 give [[0, 2], [1, 5], [3, 4]].
    """
    num_leaves = 1 << max(0, len(sizes) - 1).bit_length()
    # A tree of maxima over the room of all micro-batches that could ever be opened: from the root the way to the first
    # with room turns left wherever it can.
    room = [cap] * (2 * num_leaves)
    micro_batches: list[list[int]] = []
    for sample, size in enumerate(sizes):
        node = 1
        wanted = min(size, cap)
        while node < num_leaves:
            node *= 2
            if room[node] < wanted:
                node += 1
        if node - num_leaves == len(micro_batches):
            micro_batches.append([])
        micro_batches[node - num_leaves].append(sample)
        room[node] -= wanted
        while node > 1:
            node //= 2
            room[node] = max(room[2 * node], room[2 * node + 1])
    return micro_batches
