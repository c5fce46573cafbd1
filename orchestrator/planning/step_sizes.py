"""Sizes of all steps of a run, and what they add up to, in time that does not grow with the length of the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

from orchestrator.batching.size_plan import MAX_COUNTED_STEPS, PlannedIteration, planned_sizes
from orchestrator.contracts.batch_spec import BatchSpec

_MAX_RECENT_ITERATIONS = 1000
"""What follows the steps that are counted one by one goes on like so many iterations before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSize:
    """One step."""

    iteration: int
    num_rollouts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSizes:
    """Every step's size, and the totals of the run. Rollouts that are kept = trained + dropped."""

    steps: tuple[StepSize, ...]
    """The first ones, at most as many as asked."""
    num_steps: int
    num_rollouts: int
    """That are trained."""
    num_dropped: int
    counted: bool
    """Whether every step was counted; otherwise the totals go on like the last counted ones."""


class KeptRollouts(Sequence[int]):
    """Rollouts that the filter leaves of each iteration: whole groups, and over many iterations exactly their share.

    With 3 groups of 4 and a share of one half: 4, 8, 4, 8, …
    """

    def __init__(self, *, iterations: int, num_groups: int, group_size: int, kept_frac: float) -> None:
        self._iterations = iterations
        self._group_size = group_size
        # A share is written in decimals: as a fraction of them, 0.3 of 10 groups are 3 and not 2.
        self._groups_kept = num_groups * Fraction(kept_frac).limit_denominator(1_000_000)

    def __len__(self) -> int:
        return self._iterations

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not 0 <= index < self._iterations:
            raise IndexError(index)
        return self._before(index + 1) - self._before(index)

    @property
    def total(self) -> int:
        return self._before(self._iterations)

    def _before(self, iteration: int) -> int:
        groups = self._groups_kept.numerator * iteration // self._groups_kept.denominator
        return groups * self._group_size


def foresee_sizes(batch: BatchSpec, kept: KeptRollouts, *, tokens_per_rollout: float, max_steps: int) -> RunSizes:
    """Foresee the steps of a run; the first `max_steps` are told one by one.

    tokens_per_rollout: their mean length.
    """
    steps: list[StepSize] = []
    num_steps = num_dropped = num_iterations = 0
    recent: deque[PlannedIteration] = deque(maxlen=_MAX_RECENT_ITERATIONS)
    for planned in planned_sizes(batch, kept_per_iteration=kept, tokens_per_rollout=tokens_per_rollout):
        room = max_steps - len(steps)
        steps += [StepSize(iteration=planned.iteration, num_rollouts=size) for size in planned.step_sizes[:room]]
        num_steps += len(planned.step_sizes)
        num_dropped += planned.num_dropped
        num_iterations += 1
        recent.append(planned)
        if num_steps >= MAX_COUNTED_STEPS or num_iterations >= MAX_COUNTED_STEPS:
            break
    left = len(kept) - num_iterations
    num_steps += left * sum(len(planned.step_sizes) for planned in recent) // len(recent)
    num_dropped += left * sum(planned.num_dropped for planned in recent) // len(recent)
    # What goes on is rounded, and a step has at least one rollout: no more than the filter leaves.
    num_dropped = min(num_dropped, kept.total)
    num_steps = min(num_steps, kept.total - num_dropped)
    return RunSizes(
        steps=tuple(steps),
        num_steps=num_steps,
        num_rollouts=kept.total - num_dropped,
        num_dropped=num_dropped,
        counted=left == 0,
    )
