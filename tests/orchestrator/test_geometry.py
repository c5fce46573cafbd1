from __future__ import annotations

import pytest

from orchestrator.contracts.schedule_spec import Barrier, ScheduleSpec
from orchestrator.geometry import geometry_of
from trainer.contracts.parallelism_spec import ParallelismSpec


@pytest.mark.parametrize(
    ("parallelism", "barrier", "skips"),
    [
        ({"dp": 2}, Barrier.STEP, True),
        ({"dp": 2, "cp": 2, "tp": 2}, Barrier.STEP, True),
        ({"pp": 2}, Barrier.STEP, False),
        ({"dp": 2, "overlap_grad_reduce": True}, Barrier.STEP, False),
        ({"dp": 2}, Barrier.MICRO_BATCH, False),
    ],
)
def test_dummies_are_skipped_where_no_rank_meets_another_within_a_step(
    parallelism: dict[str, int], barrier: Barrier, skips: bool
) -> None:
    geometry = geometry_of(ScheduleSpec(token_cap=64, barrier=barrier), ParallelismSpec(**parallelism))
    assert geometry.skips_dummies is skips
