"""How long a pipeline takes for micro-batches of unequal cost: Megatron's 1F1B schedules, played through. Pure.

Called by the scheduler, which judges placements by it, and by the figures of a step. Sending between stages takes no
time here, and every stage has an equal part of the model.

    stage 0  F0 F1 .. .. B0 B0 F2 B1 B1 .. B2 B2     two stages, three micro-batches: before its first backward a
    stage 1  .. F0 B0 B0 F1 B1 B1 F2 B2 B2 .. ..     stage runs as many forwards as there are stages after it
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

# Of a micro-batch's cost; a backward pass computes two products for each one of the forward pass.
FORWARD_FRAC, BACKWARD_FRAC = 1 / 3, 2 / 3

_End: TypeAlias = tuple[int, int, bool]
"""Place in the model, micro-batch, whether it is the forward pass."""


class _Pass(NamedTuple):
    """One piece of work of one stage. A tuple, because thousands are made."""

    micro_batch: int
    chunk: int
    """Which of the stage's vpp parts of the model."""
    is_forward: bool


def pipeline_makespan(cost: npt.NDArray[np.float64], *, pp: int, vpp: int = 1) -> npt.NDArray[np.float64]:
    """Time until the last stage is done, for each of R independent pipelines: [R].

    cost: [R, M], of each micro-batch on the whole model, in the order in which they run; a stage has a pp-th of it.

    Two stages and three micro-batches of cost 6 take 3 · 3 for a stage's own work and 3 of waiting: 12.
    """
    if pp == 1:
        return np.asarray(cost.sum(axis=1))
    forward, backward = (frac / (pp * vpp) * cost.T for frac in (FORWARD_FRAC, BACKWARD_FRAC))  # [M, R]
    # Each stage's work, and when it has done what it has done; each pass's end, by its place in the model.
    stages = [deque(_work_of(stage, cost.shape[1], pp, vpp)) for stage in range(pp)]
    free_at = [np.zeros(len(cost)) for _ in stages]
    ends: dict[_End, npt.NDArray[np.float64]] = {}
    while any(stages):
        for stage, work in enumerate(stages):
            while work:
                micro_batch, chunk, is_forward = work[0]
                place = chunk * pp + stage
                before = _before(place, micro_batch, is_forward=is_forward, last=pp * vpp - 1)
                if before is not None and before not in ends:
                    break
                work.popleft()
                begin = free_at[stage] if before is None else np.maximum(ends[before], free_at[stage])
                free_at[stage] = begin + (forward if is_forward else backward)[micro_batch]
                ends[place, micro_batch, is_forward] = free_at[stage]
    return np.asarray(np.max(free_at, axis=0))


def _before(place: int, micro_batch: int, *, is_forward: bool, last: int) -> _End | None:
    """What a pass waits for; None for a forward that begins the model."""
    if is_forward:
        return (place - 1, micro_batch, True) if place else None
    return (place, micro_batch, True) if place == last else (place + 1, micro_batch, False)


def pipeline_bubble(cost: npt.NDArray[np.float64], *, pp: int, vpp: int = 1) -> float:
    """The least that the last stage waits beside its own work, whatever the order of these micro-batches, [M].

    It begins when some micro-batch has come forward to it, and when it is done some micro-batch, another one if there
    are several, still goes back from it.
    """
    cheapest = np.sort(cost)[:2]
    return float((FORWARD_FRAC * cheapest[-1] + BACKWARD_FRAC * cheapest[0]) * (pp - 1) / (pp * vpp))


def _work_of(stage: int, num_microbatches: int, pp: int, vpp: int) -> list[_Pass]:
    """What one stage does, in order: forwards alone, then one forward and one backward in turn, then backwards alone.

    See `get_pp_rank_microbatches` and `get_schedule_table` of Megatron-Core.
    """
    groups = (range(first, min(first + pp, num_microbatches)) for first in range(0, num_microbatches, pp))
    # Each part of the model takes a whole group before the next part does.
    forwards = [
        _Pass(micro_batch, chunk, is_forward=True) for group in groups for chunk in range(vpp) for micro_batch in group
    ]
    backwards = [_Pass(micro_batch, vpp - 1 - chunk, is_forward=False) for micro_batch, chunk, _ in forwards]
    # The first backward pass begins at the last stage, in the last part of the model, after a group of pp forwards in
    # each part before it. The way there and back leads through pp - stage - 1 stages twice: interleaved, all of it is
    # filled with forwards; without, only the way there, which keeps the activations of fewer micro-batches.
    alone = pp - stage - 1 if vpp == 1 else (pp - stage - 1) * 2 + (vpp - 1) * pp
    alone = min(alone, len(forwards))
    in_turn = chain.from_iterable(zip(forwards[alone:], backwards, strict=False))
    return [*forwards[:alone], *in_turn, *backwards[len(forwards) - alone :]]
