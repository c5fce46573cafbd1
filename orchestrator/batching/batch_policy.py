"""From the rollouts that an iteration has to steps: which samples make a step, which wait, and which make none. Pure.

Called by the loop once an iteration. It never splits a rollout over two steps, and never loses a sample in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.batching.batch_size import BatchPosition, next_size
from orchestrator.contracts.batch_spec import BatchSpec, Remainder, TokenBudgetBatchSpec
from orchestrator.sample_shape import SampleShape


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCut:
    """Every sample of an iteration: in one of its steps, carried or dropped. Indices ascend within each."""

    steps: tuple[tuple[int, ...], ...]
    dropped: tuple[int, ...] = ()
    """Samples of the rollouts that fill no step, under `remainder: drop`."""
    carried: tuple[int, ...] = ()
    """Samples of the rollouts that wait for the next iteration, under `remainder: carry`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rollout:
    samples: tuple[int, ...]
    num_tokens: int


def cut_into_steps(
    samples: Sequence[SampleShape],
    batch: BatchSpec,
    *,
    position: BatchPosition,
    is_last_iteration: bool,
    decided_size: int | None = None,
) -> StepCut:
    """Cut an iteration into steps, its rollouts in the order in which their first samples come.

    Samples that were carried into the iteration come first. `position` is that of the iteration's first step, and
    `decided_size` the controller's word under `adaptive`, None while it has none. After the last iteration nothing
    can wait: there, carry makes a smaller step.

    With two rollouts a step, the samples of rollouts a a b c c d e become the steps (0, 1, 2), (3, 4, 5) and, under
    `remainder: partial`, (6,); under `carry` sample 6 is carried, under `drop` it is dropped.
    """
    rollouts = _rollouts_of(samples)
    steps: list[tuple[int, ...]] = []
    first = 0
    while (end := _end_of_step(rollouts, first, batch, position, decided_size)) is not None:
        steps.append(_samples_of(rollouts[first:end]))
        position, first = position.after(len(steps[-1])), end
    left = _samples_of(rollouts[first:])
    if left and (batch.remainder is Remainder.PARTIAL or (is_last_iteration and batch.remainder is Remainder.CARRY)):
        return StepCut(steps=(*steps, left))
    if batch.remainder is Remainder.DROP:
        return StepCut(steps=tuple(steps), dropped=left)
    return StepCut(steps=tuple(steps), carried=left)


def _end_of_step(
    rollouts: Sequence[_Rollout], first: int, batch: BatchSpec, position: BatchPosition, decided_size: int | None
) -> int | None:
    """End of the full step that begins at rollout `first`; None: what is left does not fill one."""
    if first == len(rollouts):
        return None
    if isinstance(batch, TokenBudgetBatchSpec):
        return _end_by_tokens(rollouts, first, batch.tokens_per_step)
    size = next_size(batch, position, decided_size=decided_size)
    end = len(rollouts) if size is None else first + size
    return end if end <= len(rollouts) else None


def _end_by_tokens(rollouts: Sequence[_Rollout], first: int, budget: int) -> int | None:
    """As many rollouts as come nearest to the budget, at least one.

    The last ones have no successor to judge by: they fill a step if a rollout of the iteration's mean length would lead
    further from the budget.
    """
    num_tokens = 0
    for end in range(first, len(rollouts)):
        longer = num_tokens + rollouts[end].num_tokens
        if end > first and abs(longer - budget) > abs(num_tokens - budget):
            return end
        num_tokens = longer
    mean = sum(rollout.num_tokens for rollout in rollouts) / len(rollouts)
    return len(rollouts) if abs(num_tokens + mean - budget) > abs(num_tokens - budget) else None


def _rollouts_of(samples: Sequence[SampleShape]) -> list[_Rollout]:
    indices: dict[str, list[int]] = {}
    for i, sample in enumerate(samples):
        indices.setdefault(sample.rollout_id, []).append(i)
    return [
        _Rollout(samples=tuple(own), num_tokens=sum(samples[i].num_tokens for i in own)) for own in indices.values()
    ]


def _samples_of(rollouts: Sequence[_Rollout]) -> tuple[int, ...]:
    return tuple(sorted(chain.from_iterable(rollout.samples for rollout in rollouts)))
