"""What became of the rollouts of an iteration, counted so that the books balance. Pure; called by the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.batching.batch_policy import StepCut
from orchestrator.sample_shape import SampleShape


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutCounts:
    """Told at the first step of an iteration, so that a sum over steps counts no rollout twice.

    An iteration that trains no step tells its counts by an event alone: a sum over steps leaves out what it generated,
    filtered and dropped. What it carries on is in the next step's `num_carried_in`.
    """

    num_generated: int = 0
    num_filtered: int = 0
    num_carried_in: int = 0
    num_carried_out: int = 0
    num_dropped: int = 0

    @property
    def num_trained(self) -> int:
        """Carried in + generated = filtered + dropped + carried out + trained."""
        left_out = self.num_filtered + self.num_dropped + self.num_carried_out
        return self.num_carried_in + self.num_generated - left_out


NO_ROLLOUTS = RolloutCounts()
"""For a step that is not the first of its iteration, or whose samples nobody rolled out."""


def count_rollouts(
    samples: Sequence[SampleShape], cut: StepCut, *, num_generated: int, num_filtered: int, num_carried_in: int
) -> RolloutCounts:
    """Count an iteration's rollouts, however many samples each has.

    samples: all that the cut was made of.

    Raises:
        RuntimeError: a rollout is nowhere, or in two places.
    """
    counts = RolloutCounts(
        num_generated=num_generated,
        num_filtered=num_filtered,
        num_carried_in=num_carried_in,
        num_carried_out=_num_rollouts(samples, cut.carried),
        num_dropped=_num_rollouts(samples, cut.dropped),
    )
    placed = _num_rollouts(samples, tuple(chain(*cut.steps, cut.carried, cut.dropped)))
    trained = sum(_num_rollouts(samples, step) for step in cut.steps)
    if trained != counts.num_trained or placed != trained + counts.num_carried_out + counts.num_dropped:
        raise RuntimeError(f"the books do not balance: the steps train {trained} rollouts, but {counts}")
    return counts


def _num_rollouts(samples: Sequence[SampleShape], indices: Sequence[int]) -> int:
    return len({samples[i].rollout_id for i in indices})
