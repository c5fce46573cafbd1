"""From the rollouts that an iteration kept to steps: which samples make a step, and which make none.

Called by the loop once an iteration. It never splits a rollout over two steps, and never loses a sample in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.contracts.batch_spec import AllBatchSpec, BatchSpec, FixedBatchSpec, Remainder
from orchestrator.sample_shape import SampleShape


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCut:
    """Every sample of an iteration, either in one of its steps or dropped. Indices ascend within a step."""

    steps: tuple[tuple[int, ...], ...]
    dropped: tuple[int, ...]
    """Samples of the rollouts that filled no step."""


def cut_into_steps(samples: Sequence[SampleShape], batch: BatchSpec) -> StepCut:
    """Cut an iteration into steps, its rollouts in the order in which their first samples come.

    With two rollouts a step and `remainder: partial`, the samples of rollouts a a b c c d e become the steps
    (0, 1, 2), (3, 4, 5) and (6,); with `remainder: drop` sample 6 is dropped.
    """
    rollouts = _samples_by_rollout(samples)
    match batch:
        case AllBatchSpec():
            size = len(rollouts)
        case FixedBatchSpec():
            size = batch.global_batch_size
    steps = [_merged(rollouts[first : first + size]) for first in range(0, len(rollouts), max(1, size))]
    if batch.remainder is Remainder.DROP and len(rollouts) % size:
        return StepCut(steps=tuple(steps[:-1]), dropped=steps[-1])
    return StepCut(steps=tuple(steps), dropped=())


def _samples_by_rollout(samples: Sequence[SampleShape]) -> list[list[int]]:
    rollouts: dict[str, list[int]] = {}
    for i, sample in enumerate(samples):
        rollouts.setdefault(sample.rollout_id, []).append(i)
    return list(rollouts.values())


def _merged(rollouts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sorted(chain.from_iterable(rollouts)))
