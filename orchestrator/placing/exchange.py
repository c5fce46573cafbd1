"""Which exchange between a heavy and a light rank brings them nearest to where they shall be. Decides, changes nothing.

Two kinds: whole micro-batches change sides, or single samples do, within the cap. Either may be one-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.placing.micro_batch import MicroBatch, SampleLoads

# With so many samples on either side some pair hits the wanted saving closely enough; more only cost time.
MOST_GIVEN = 64
MOST_TAKEN = 32
# One micro-batch may hold a whole step of short samples.
MOST_OF_A_MICRO_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What an exchange shall do."""

    wanted: float
    """Cost that should go from the heavy to the light rank."""
    most: float
    """Cost from which on the light rank would become the heavy one."""
    may_move: bool
    """Whether the heavy rank may give a micro-batch to the light one and get none for it."""
    may_open: bool
    """Whether the light rank may put a sample into a new micro-batch."""
    may_close: bool
    """Whether the heavy rank may give the only sample of a micro-batch and get none for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchExchange:
    """Whole micro-batches change sides; the cap is no matter."""

    miss: float
    """Distance to the wanted saving."""
    given: int
    """Index of the micro-batch that leaves the heavy rank."""
    taken: int | None
    """Index of the one that the light rank gives for it; None: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleExchange:
    """Samples change sides: single ones here, up to two in `bundle_exchange.py`."""

    miss: float
    given: tuple[int, ...]
    """Samples that leave the heavy rank."""
    giver: int
    """Index of the heavy rank's micro-batch that they leave."""
    taken: tuple[int, ...]
    """Samples that the light rank gives for them; empty: none."""
    taker: int | None
    """Index of the light rank's micro-batch that gets them; None: a new one."""


def best_micro_batch_exchange(
    heavy: Sequence[MicroBatch], light: Sequence[MicroBatch], aim: Aim
) -> MicroBatchExchange | None:
    """The exchange of micro-batches that comes nearest to the aim, if one lowers the heavy rank at all."""
    given_cost = np.array([micro_batch.cost for micro_batch in heavy])  # [G]
    taken_cost = np.array([*(micro_batch.cost for micro_batch in light), *([0.0] if aim.may_move else [])])  # [T]
    if not len(taken_cost):
        return None
    # Of all that could be taken for a given one only its neighbours in the order of cost can come nearest.
    ascending = np.argsort(taken_cost, kind="stable")
    above = np.searchsorted(taken_cost[ascending], given_cost - aim.wanted)
    taken = ascending[np.clip(np.stack([above - 1, above], axis=1), 0, len(ascending) - 1)]  # [G, 2]
    found = nearest(given_cost[:, None] - taken_cost[taken], aim)
    if found is None:
        return None
    miss, given, neighbour = found
    taken_index = int(taken[given, neighbour])
    return MicroBatchExchange(miss=miss, given=given, taken=taken_index if taken_index < len(light) else None)


def best_sample_exchange(
    heavy: Sequence[MicroBatch], light: Sequence[MicroBatch], aim: Aim, loads: SampleLoads, cap: int
) -> SampleExchange | None:
    """The exchange of samples that comes nearest to the aim within the cap, if one lowers the heavy rank at all."""
    givers = _givers(heavy)
    takers = _takers(light, loads, cap, may_open=aim.may_open)
    if not takers:
        return None
    given = [sample for sample, _ in givers]
    saving = np.subtract.outer(loads.cost[given], [taker.cost for taker in takers])
    # The sample given is no smaller, as it costs more: the micro-batch that it leaves stays below the cap anyway.
    forbidden = np.greater.outer(loads.size[given], [taker.room for taker in takers])
    if not aim.may_close:
        alone = [len(heavy[giver].samples) == 1 for _, giver in givers]
        forbidden |= np.logical_and.outer(alone, [taker.sample is None for taker in takers])
    if aim.may_open:
        # The first place is a new micro-batch, whose overhead may not make the light rank the heavy one.
        forbidden[:, 0] |= saving[:, 0] + loads.overhead >= aim.most
    found = nearest(np.where(forbidden, 0.0, saving), aim)
    if found is None:
        return None
    miss, row, column = found
    return SampleExchange(
        miss=miss,
        given=(givers[row][0],),
        giver=givers[row][1],
        taken=() if (taken := takers[column].sample) is None else (taken,),
        taker=takers[column].micro_batch,
    )


def _givers(heavy: Sequence[MicroBatch]) -> list[tuple[int, int]]:
    """Samples of the heavy rank with the index of their micro-batch."""
    givers: list[tuple[int, int]] = []
    for k, micro_batch in enumerate(heavy):
        givers.extend((sample, k) for sample in some_samples(micro_batch, MOST_OF_A_MICRO_BATCH))
        if len(givers) >= MOST_GIVEN:
            break
    return givers


class _Taker(NamedTuple):
    """A place for a sample on the light rank. A tuple, because thousands are made."""

    sample: int | None
    """What makes way for it."""
    cost: float
    micro_batch: int | None
    room: int
    """What fits in once the sample has made way."""


def _takers(light: Sequence[MicroBatch], loads: SampleLoads, cap: int, *, may_open: bool) -> list[_Taker]:
    """Places on the light rank, those with most room first."""
    cost, size = loads.cost.item, loads.size.item
    takers = [_Taker(None, 0.0, None, cap)] if may_open else []
    for k in sorted(range(len(light)), key=lambda k: light[k].size):
        room = cap - light[k].size
        takers.append(_Taker(None, 0.0, k, room))
        some = some_samples(light[k], MOST_OF_A_MICRO_BATCH)
        takers += [_Taker(sample, cost(sample), k, room + size(sample)) for sample in some]
        if len(takers) >= MOST_TAKEN:
            break
    return takers


def some_samples(micro_batch: MicroBatch, most: int) -> list[int]:
    """At most so many samples, spread over the micro-batch, which mostly holds them by size."""
    return micro_batch.samples[:: -(-len(micro_batch.samples) // most)]


def nearest(saving: npt.NDArray[np.float64], aim: Aim) -> tuple[float, int, int] | None:
    """Distance to the wanted saving, row and column of the best entry between 0 and the most, both excluded."""
    miss = np.where((saving > 0) & (saving < aim.most), np.abs(saving - aim.wanted), np.inf)
    row, column = divmod(int(miss.argmin()), miss.shape[1])
    least = float(miss[row, column])
    return None if least == np.inf else (least, row, column)
