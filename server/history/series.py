"""What a run's series are called in the rollups: metrics by their id, columns of its steps by negative numbers.

A number is stored for good: a new column gets the next one, and none is ever used again.
"""

from __future__ import annotations

from server.steps.columns import STEP_SERIES
from trainer.contracts.metric import Reduction

COLUMN_NUMBERS: dict[str, int] = {
    "samples_total": -1,
    "tokens_total": -2,
    "ended_at": -3,
    "global_batch_size": -4,
    "num_prompts": -5,
    "num_rollouts": -6,
    "num_tokens": -7,
    "num_loss_tokens": -8,
    "num_microbatches": -9,
    "num_dummies": -10,
    "num_over_cap": -11,
    "num_generated": -12,
    "num_filtered": -13,
    "num_dropped": -14,
    "lr": -15,
    "predicted_idle_frac": -16,
    "measured_idle_frac": -17,
    "idle_bound_frac": -18,
    "padding_frac": -19,
    "num_carried_in": -20,
    "num_carried_out": -21,
}
"""The columns of `steps` that are rolled up; the first three are axes."""


def column_reduction(name: str) -> Reduction:
    """How a column of `steps` is reduced; an axis shows where a stretch ends."""
    return STEP_SERIES.get(name, Reduction.LAST)
