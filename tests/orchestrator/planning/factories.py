"""Requests for plans, and stored schedules to ask what-if of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from orchestrator.contracts.messages import SampleColumns, ScheduleMessage
from orchestrator.contracts.plan import PlanRequest, RunPlan
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.planning.plan import plan_run
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from tests.orchestrator.factories import COST_MODEL, aggregations, cost_models, geometries, shapes_of_an_iteration
from tests.orchestrator.run_factories import run_spec
from trainer.contracts.certificate import LossAggregation

SECONDS_PER_COST = 0.5


def plan(*, kept_frac: float = 1.0, lengths: Any = None, scheduled: int = 8, **changes: Any) -> RunPlan:
    """The plan of the small run, with blocks of its spec changed."""
    request = {
        "spec": run_spec(**changes),
        "lengths": lengths,
        "kept_frac": kept_frac,
        "max_scheduled_steps": scheduled,
    }
    return plan_run(PlanRequest.model_validate(request | {"max_scheduled_steps": scheduled}))


def stored_schedule(
    shapes: Sequence[SampleShape],
    geometry: StepGeometry,
    *,
    cost_model: CostModel = COST_MODEL,
    loss_aggregation: LossAggregation = LossAggregation.ROLLOUT_MEAN,
    constant_tokens: int | None = None,
) -> ScheduleMessage:
    """One step of these samples, as the server has it after it ran: half a second for each unit of cost."""
    schedule = build_dp_schedule(
        shapes,
        [range(len(shapes))],
        geometry=geometry,
        cost_model=cost_model,
        loss_aggregation=loss_aggregation,
        constant_tokens=constant_tokens,
    ).step(0)
    lengths = [shape.num_tokens for shape in shapes]
    figures = step_figures(schedule, lengths=lengths, geometry=geometry, cost_model=cost_model)
    return ScheduleMessage(
        token_cap=geometry.micro_batch_token_cap,
        micro_batch_size=geometry.micro_batch_size,
        packer=geometry.packer,
        balance=geometry.balance,
        barrier=geometry.barrier,
        skips_dummies=geometry.skips_dummies,
        cp=geometry.cp,
        pp=geometry.pp,
        vpp=geometry.vpp,
        samples=_columns(shapes, [str(weight) for weight in schedule.certificate.weights]),
        micro_batches=schedule.micro_batches,
        predicted_cost=figures.predicted_cost,
        measured_s=tuple(tuple(cost * SECONDS_PER_COST for cost in rank) for rank in figures.predicted_cost),
        sample_cost=figures.sample_cost,
        loss_aggregation=loss_aggregation,
        certificate_sha256=schedule.certificate.sha256,
    )


def _columns(shapes: Sequence[SampleShape], weights: Sequence[str]) -> SampleColumns:
    return SampleColumns(
        sample_id=tuple(shape.sample_id for shape in shapes),
        rollout_id=tuple(shape.rollout_id for shape in shapes),
        group_id=tuple(shape.group_id for shape in shapes),
        num_tokens=tuple(shape.num_tokens for shape in shapes),
        num_loss_tokens=tuple(shape.num_loss_tokens for shape in shapes),
        weight=tuple(weights),
        reward=(None,) * len(shapes),
        advantage=(None,) * len(shapes),
        policy_version=(0,) * len(shapes),
    )


def stored_schedules() -> st.SearchStrategy[ScheduleMessage]:
    """Any step under any layout that can have run."""
    return st.builds(
        lambda shapes, geometry, cost_model, aggregation: stored_schedule(
            shapes, geometry, cost_model=cost_model, **aggregation
        ),
        shapes_of_an_iteration(),
        geometries().filter(lambda geometry: geometry.vpp == 1 or geometry.pp > 1),
        cost_models(),
        aggregations(),
    )
