"""How much work it is to foresee one step, so that nobody keeps a server busy with a pipeline that cannot exist."""

from __future__ import annotations

from orchestrator.geometry import StepGeometry

MAX_PIPELINE_PASSES = 50_000
"""Of one step: a second's work or two, and more than any pipeline runs between two updates."""
_SAMPLES_PER_PASS = 8


def pipeline_passes(geometry: StepGeometry, *, num_samples: int, num_tokens: int) -> int:
    """Micro-batches of a rank times stages, as far as they can be known before the step is cut; 0 without a pipeline.

    First fit leaves no two micro-batches that would fit into one, so there are at most twice as many as tokens ask for.
    """
    if geometry.pp == 1:
        return 0
    if geometry.micro_batch_token_cap is not None:
        count = min(num_samples, 2 * num_tokens // geometry.micro_batch_token_cap + 1)
    else:
        count = -(-num_samples // (geometry.micro_batch_size or 1))
    of_a_rank = -(-count // geometry.dp_size)
    aligned = -(-of_a_rank // geometry.count_multiple) * geometry.count_multiple
    return aligned * geometry.pp * geometry.vpp


def scheduling_effort(geometry: StepGeometry, *, num_samples: int, mean_tokens: float) -> float:
    """In the time that one sample takes; ranks have lists of their own, and a pass is played through."""
    passes = pipeline_passes(geometry, num_samples=num_samples, num_tokens=round(num_samples * mean_tokens))
    return num_samples + geometry.dp_size + _SAMPLES_PER_PASS * passes
