from __future__ import annotations

import numpy as np
import pytest

from orchestrator.contracts.schedule_spec import Barrier
from orchestrator.placing.makespan import step_makespan, step_makespan_bound
from tests.orchestrator.factories import step_geometry

COST = np.array([[4.0, 2.0], [1.0, 3.0]])


def test_the_heaviest_rank_ends_last() -> None:
    assert step_makespan(COST, step_geometry(dp_size=2)) == 6


def test_at_every_micro_batch_all_wait_for_the_heaviest() -> None:
    assert step_makespan(COST, step_geometry(dp_size=2, barrier=Barrier.MICRO_BATCH)) == 4 + 3


def test_a_pipeline_adds_its_bubble() -> None:
    equal = np.full((2, 4), 6.0)
    assert step_makespan(equal, step_geometry(dp_size=2, pp=2)) == pytest.approx(4 * 3 + 3)
    assert step_makespan(equal, step_geometry(dp_size=2, pp=2, vpp=2)) == pytest.approx(4 * 3 + 1.5)
    both = step_geometry(dp_size=2, pp=2, barrier=Barrier.MICRO_BATCH)
    assert step_makespan(np.array([[6.0] * 4, [3.0] * 4]), both) == pytest.approx(4 * 3 + 3)


@pytest.mark.parametrize("barrier", Barrier)
def test_equal_micro_batches_meet_the_bound(barrier: Barrier) -> None:
    samples = np.full(8, 6.0)
    for pp in (1, 2):
        geometry, cost = step_geometry(dp_size=2, pp=pp, barrier=barrier), np.full((2, 4), 6.0)
        bound = step_makespan_bound(cost, samples, geometry, overhead=0.0)
        assert bound == pytest.approx(step_makespan(cost, geometry))


def test_the_bound_knows_the_costliest_sample_and_its_overhead() -> None:
    cost = np.array([[11.0, 0.0], [2.0, 2.0]])
    assert step_makespan_bound(cost, np.array([10.0, 1.0, 1.0]), step_geometry(dp_size=2), overhead=1.0) == 11
