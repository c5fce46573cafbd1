"""How much work it is to foresee one step, so that nobody keeps a server busy with a pipeline that cannot exist."""

from __future__ import annotations

from orchestrator.geometry import StepGeometry
from orchestrator.placing.placement import most_searches

MAX_PIPELINE_PASSES = 50_000
"""Of one step: a second's work or two, and more than any pipeline runs between two updates."""
MAX_EFFORT = 500_000
"""Of cutting steps into micro-batches, all together (see `scheduling_effort`): about two seconds."""

# Measured, in the time that one sample takes, which is a few microseconds.
_EFFORT_PER_STEP = 75
_EFFORT_PER_MICRO_BATCH = 3
_EFFORT_PER_RANK = 2
_EFFORT_PER_SEARCH = 10
_EFFORT_PER_PASS = 8


def pipeline_passes(geometry: StepGeometry, *, num_samples: int, num_tokens: int) -> int:
    """Micro-batches of a rank times stages, as far as they are known before the step is cut; 0 without a pipeline."""
    if geometry.pp == 1:
        return 0
    count = most_micro_batches(geometry, num_samples=num_samples, num_tokens=num_tokens)
    of_a_rank = -(-count // geometry.dp_size)
    aligned = -(-of_a_rank // geometry.count_multiple) * geometry.count_multiple
    return aligned * geometry.pp * geometry.vpp


def most_micro_batches(geometry: StepGeometry, *, num_samples: int, num_tokens: int) -> int:
    """Of all ranks, before they are aligned.

    First fit leaves no two micro-batches that would fit into one, so there are at most twice as many as tokens ask for.
    """
    if geometry.micro_batch_token_cap is not None:
        return min(num_samples, 2 * num_tokens // geometry.micro_batch_token_cap + 1)
    return -(-num_samples // (geometry.micro_batch_size or 1))


def scheduling_effort(geometry: StepGeometry, *, num_samples: int, mean_tokens: float) -> int:
    """Of one step, at most, in the time that one of many samples takes."""
    num_tokens = round(num_samples * mean_tokens)
    return (
        _EFFORT_PER_STEP
        + num_samples
        + _EFFORT_PER_MICRO_BATCH * most_micro_batches(geometry, num_samples=num_samples, num_tokens=num_tokens)
        + _EFFORT_PER_RANK * geometry.dp_size
        + _EFFORT_PER_SEARCH * most_searches(num_samples, geometry.dp_size)
        + _EFFORT_PER_PASS * pipeline_passes(geometry, num_samples=num_samples, num_tokens=num_tokens)
    )
