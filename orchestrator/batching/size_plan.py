"""The sizes of every step of a run before it begins, as far as its batch policy lets them be known. Pure.

Called by `planning/` for a plan before launch, and by the loop for how many steps there will be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from orchestrator.batching.batch_size import BatchPosition, next_size
from orchestrator.contracts.batch_spec import (
    AdaptiveBatchSpec,
    AdaptiveMode,
    AllBatchSpec,
    BatchSpec,
    Remainder,
    TokenBudgetBatchSpec,
)

MAX_COUNTED_STEPS = 100_000
"""So many steps are foreseen one by one, in a tenth of a second; for more nobody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedIteration:
    """One iteration. Carried in + kept = the steps' rollouts + carried out + dropped."""

    iteration: int
    num_kept: int
    """Rollouts that the filter leaves."""
    step_sizes: tuple[int, ...]
    """Rollouts of each of its steps."""
    num_carried_in: int = 0
    num_carried_out: int = 0
    num_dropped: int = 0


def planned_sizes(
    batch: BatchSpec,
    *,
    kept_per_iteration: Sequence[int],
    samples_per_rollout: int = 1,
    tokens_per_rollout: float = 1.0,
) -> Iterator[PlannedIteration]:
    """Foresee what `cut_into_steps` will do, iteration by iteration, in time proportional to the number of steps.

    kept_per_iteration: rollouts that the filter is expected to leave, for each iteration of the run.
    tokens_per_rollout: their mean length, prompts included; only `token_budget` asks.

    Under `adaptive` the sizes are those while nothing is decided. With equal lengths the plan is exact:

        fixed 6, carry, kept (8, 8, 3)  →  sizes (6,), (6,), (6, 1); carried out 2, 4, 0
    """
    position, waiting = BatchPosition(), 0
    for iteration, kept in enumerate(kept_per_iteration):
        sizes, left = [], waiting + kept
        while left and (size := _size(batch, position, left, tokens_per_rollout)) <= left:
            sizes.append(size)
            left -= size
            position = position.after(size * samples_per_rollout)
        is_last = iteration + 1 == len(kept_per_iteration)
        if left and (batch.remainder is Remainder.PARTIAL or (is_last and batch.remainder is Remainder.CARRY)):
            sizes.append(left)
            position = position.after(left * samples_per_rollout)
            left = 0
        carried = left if batch.remainder is Remainder.CARRY else 0
        yield PlannedIteration(
            iteration=iteration,
            num_kept=kept,
            step_sizes=tuple(sizes),
            num_carried_in=waiting,
            num_carried_out=carried,
            num_dropped=left - carried,
        )
        waiting = carried


def steps_left(
    batch: BatchSpec, *, iterations: int, rollouts_per_iteration: int, keeps_all: bool
) -> Sequence[int] | None:
    """By iteration, the steps from its first one to the end of the run; None: the policy does not let them be known.

    keeps_all: whether the filter leaves every rollout; else only the policies with one step an iteration are known.

        fixed 6, carry, 3 iterations of 8  →  4, 3, 2
    """
    if isinstance(batch, AllBatchSpec) or (isinstance(batch, AdaptiveBatchSpec) and batch.global_batch_size is None):
        return range(iterations, 0, -1)
    is_decided_later = isinstance(batch, AdaptiveBatchSpec) and batch.mode is AdaptiveMode.CONTROL
    if isinstance(batch, TokenBudgetBatchSpec) or is_decided_later or not keeps_all:
        return None
    if iterations > MAX_COUNTED_STEPS:
        return None
    counts: list[int] = []
    num_steps = 0
    for planned in planned_sizes(batch, kept_per_iteration=[rollouts_per_iteration] * iterations):
        counts.append(len(planned.step_sizes))
        num_steps += counts[-1]
        if num_steps > MAX_COUNTED_STEPS:
            return None
    return list(accumulate(reversed(counts)))[::-1]


def _size(batch: BatchSpec, position: BatchPosition, left: int, tokens_per_rollout: float) -> int:
    if isinstance(batch, TokenBudgetBatchSpec):
        return max(1, math.floor(batch.tokens_per_step / tokens_per_rollout + 0.5))
    size = next_size(batch, position)
    return left if size is None else size
