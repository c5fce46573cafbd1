"""Packing: the samples of a step into as few micro-batches as first-fit decreasing needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np


def first_fit_decreasing(lengths: Sequence[int], token_cap: int) -> list[list[int]]:
    """Sample indices of each micro-batch, as first-fit decreasing packs them, in O(N log N).

    First fit puts a sample into the first micro-batch with room, so what the first one ends up with is the longest
    sample, then always the longest of the rest that still fits; the second does the same with what is left. Filling
    one after the other gives the very same packing and never searches among open micro-batches. `following` is a
    union-find over the samples by decreasing length that skips those already placed.

    A sample longer than the cap lands alone. Lengths 6, 5, 4, 7, 3, 5 with a cap of 10 give [[3, 4], [0, 2], [1, 5]].
    """
    num_samples = len(lengths)
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist()
    descending = [lengths[i] for i in order]
    negated = [-length for length in descending]
    following = list(range(num_samples + 1))
    micro_batches = []
    for longest in range(num_samples):
        if following[longest] != longest:
            continue
        following[longest] = longest + 1
        micro_batch = [order[longest]]
        room = token_cap - descending[longest]
        while room > 0:
            place = bisect_left(negated, -room)
            while (after := following[place]) != place:
                following[place] = place = following[after]
            if place == num_samples:
                break
            following[place] = place + 1
            micro_batch.append(order[place])
            room -= descending[place]
        micro_batches.append(micro_batch)
    return micro_batches
