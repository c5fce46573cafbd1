"""The numbers of a step as trackers take them: one float a name. Pure."""

from __future__ import annotations

from orchestrator.contracts.messages import StepMessage
from orchestrator.mirrors.mirror import MirroredStep

_COUNTS = (
    *("global_batch_size", "num_prompts", "num_rollouts", "num_tokens", "num_loss_tokens"),
    *("num_microbatches", "num_dummies", "num_over_cap"),
    *("num_generated", "num_filtered", "num_dropped", "num_carried_in", "num_carried_out"),
    *("lr", "predicted_idle_frac", "measured_idle_frac", "idle_bound_frac", "padding_frac"),
)
"""Columns of every step that a tracker has no column for: those of which the dashboard draws a series.

They keep their names: no metric may have one of them.
"""


def mirrored_step(message: StepMessage) -> MirroredStep:
    """The step's metrics as they were measured, each already the weighted mean over its step, with its counts."""
    counts = {name: float(value) for name in _COUNTS if (value := getattr(message, name)) is not None}
    metrics = {name: float(metric.value) for name, metric in message.metrics.items() if metric.value is not None}
    return MirroredStep(step=message.step, at=message.ended_at, values=counts | metrics)
