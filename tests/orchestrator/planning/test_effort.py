from __future__ import annotations

import pytest

from orchestrator.geometry import StepGeometry
from orchestrator.planning.effort import MAX_EFFORT, pipeline_passes, scheduling_effort


def effort(num_samples: int, **geometry: int) -> int:
    return scheduling_effort(StepGeometry(**({"token_cap": 1000} | geometry)), num_samples=num_samples, mean_tokens=100)


def test_steps_have_an_effort_however_small_they_are() -> None:
    assert 10_000 * effort(1, dp_size=1) > MAX_EFFORT


@pytest.mark.parametrize("more", [{"dp_size": 64}, {"token_cap": 100}, {"pp": 8}])
def test_ranks_micro_batches_and_stages_are_effort_too(more: dict[str, int]) -> None:
    assert effort(100, **({"dp_size": 2} | more)) > effort(100, dp_size=2)


def test_a_step_of_a_hundred_thousand_samples_can_be_planned_at_any_cap() -> None:
    assert effort(120_000, dp_size=8, token_cap=1) <= MAX_EFFORT


def test_a_pipeline_plays_through_each_micro_batch_on_each_stage() -> None:
    geometry = StepGeometry(dp_size=2, micro_batch_size=5, pp=4, vpp=2)
    # 20 micro-batches, 10 a rank, rounded up to groups of 4.
    assert pipeline_passes(geometry, num_samples=100, num_tokens=1) == 12 * 4 * 2
