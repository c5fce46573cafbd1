"""How long a schedule is predicted to take until its last rank is done, in the cost model's units."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.contracts.schedule_spec import Barrier
from orchestrator.geometry import StepGeometry


def makespan(predicted_cost: Sequence[Sequence[float]], geometry: StepGeometry) -> float:
    """The predicted end of the last rank. predicted_cost: [dp_rank][micro-batch], of a whole model.

    A stage has a pp-th of each micro-batch. Before a pipeline is full and after it drains, the last stage waits for
    (pp − 1) / vpp micro-batches (Narayanan et al. 2021, section 2.2); they are counted as large as its largest.

    With two ranks of costs (4, 2) and (3, 1), barriers at the step give 6, at every micro-batch 4 + 2.
    """
    rows: Sequence[Sequence[float]] = predicted_cost
    if geometry.barrier is Barrier.MICRO_BATCH:
        rows = [[max(barrier) for barrier in zip(*predicted_cost, strict=True)]]
    bubble = (geometry.pp - 1) / geometry.vpp
    return max(sum(row) + bubble * max(row) for row in rows) / geometry.pp
