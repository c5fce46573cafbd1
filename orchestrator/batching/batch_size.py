"""How many rollouts the next step has: the arithmetic of the batch policies. Pure.

Called by `batch_policy.py`, which cuts iterations that happened, and by `size_plan.py`, which foresees them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.contracts.batch_spec import (
    AdaptiveBatchSpec,
    AllBatchSpec,
    ExplicitBatchSpec,
    FixedBatchSpec,
    RampBatchSpec,
)

CountedBatchSpec: TypeAlias = FixedBatchSpec | AllBatchSpec | RampBatchSpec | ExplicitBatchSpec | AdaptiveBatchSpec
"""The policies whose step is a number of rollouts, whatever their lengths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPosition:
    """How far reinforcement is: what the steps cut so far come to, whatever the trainer made of them."""

    step: int = 0
    """Steps of reinforcement before the next one."""
    samples: int = 0
    """Samples of those steps."""

    def after(self, num_samples: int) -> BatchPosition:
        """The position after a step of so many samples."""
        return BatchPosition(step=self.step + 1, samples=self.samples + num_samples)


def next_size(batch: CountedBatchSpec, position: BatchPosition, *, decided_size: int | None = None) -> int | None:
    """Rollouts of the step at `position`; None: everything that the iteration has.

    decided_size: what the controller decided under `adaptive`; None while nothing is decided.
    """
    match batch:
        case FixedBatchSpec():
            return batch.global_batch_size
        case AllBatchSpec():
            return None
        case RampBatchSpec():
            return _ramp_size(batch, position.samples)
        case ExplicitBatchSpec():
            return _explicit_size(batch, position.step)
        case AdaptiveBatchSpec():
            return batch.global_batch_size if decided_size is None else decided_size


def _ramp_size(batch: RampBatchSpec, samples: int) -> int:
    """Megatron-Core's `RampupBatchsizeNumMicroBatchesCalculator`, in its own floating-point arithmetic.

    Where start equals end Megatron divides by zero; there is nothing to ramp.
    """
    num_increments = (batch.end - batch.start) // batch.increment
    if num_increments == 0 or samples > batch.over_samples:
        return batch.end
    samples_per_increment = batch.over_samples / num_increments
    return batch.start + int(samples / samples_per_increment) * batch.increment


def _explicit_size(batch: ExplicitBatchSpec, step: int) -> int:
    if batch.sizes is not None:
        return batch.sizes[min(step, len(batch.sizes) - 1)]
    rows = batch.table or ()
    return rows[bisect_right(rows, step, key=lambda row: row.from_step) - 1].global_batch_size
