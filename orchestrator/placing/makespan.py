"""When the last rank is done with a step, by predicted cost: what the scheduler lowers and its figures tell. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.schedule_spec import Barrier
from orchestrator.geometry import StepGeometry
from orchestrator.placing.makespan_bound import makespan_bound
from orchestrator.placing.pipeline import pipeline_bubble, pipeline_makespan


def step_makespan(cost: npt.NDArray[np.float64], geometry: StepGeometry) -> float:
    """The end of the last rank. cost: [dp_rank, micro-batch], of the whole model, in the order in which they run.

    A pipeline stage has a pp-th of each. Two ranks with costs 4, 2 and 3, 1 that meet at the step's end take 6, and
    4 + 2 as well where they meet at every micro-batch.
    """
    if geometry.barrier is Barrier.MICRO_BATCH:
        cost = cost.max(axis=0, keepdims=True)
    return float(pipeline_makespan(cost, pp=geometry.pp, vpp=geometry.vpp).max())


def step_makespan_bound(
    cost: npt.NDArray[np.float64], sample_cost: npt.NDArray[np.float64], geometry: StepGeometry, *, overhead: float
) -> float:
    """A makespan that no better placement comes below.

    cost: as above; sample_cost: [N]; overhead: what each micro-batch costs beside its samples.

    Without a pipeline no placement of these samples into as many micro-batches is faster; with one, no placement and
    order of these micro-batches is, as smaller ones at the ends would always fill the pipeline sooner.
    """
    heaviest_rank = max(cost.sum() / geometry.dp_size, makespan_bound(sample_cost, geometry.dp_size) + overhead)
    if geometry.pp == 1:
        return float(heaviest_rank)
    # The bubble of the cheapest micro-batches, around the least work that the heaviest rank can have.
    bubble = pipeline_bubble(np.sort(cost, axis=None)[: cost.shape[1]], pp=geometry.pp, vpp=geometry.vpp)
    return float(max(heaviest_rank / geometry.pp + bubble, cost.max()))
