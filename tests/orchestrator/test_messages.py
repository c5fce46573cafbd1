from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from orchestrator.contracts.messages import (
    AttemptLaunch,
    DesiredState,
    EventMessage,
    EventsBatch,
    Heartbeat,
    IngestAnswer,
    MetricMessage,
    SampleColumns,
    ScheduleMessage,
    StateReport,
    StepMessage,
    StepsBatch,
)
from orchestrator.geometry import StepGeometry
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from tests.orchestrator.factories import COST_MODEL, geometries, sample_shapes, shapes_of_an_iteration, step_geometry
from tests.orchestrator.run_factories import run_spec
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.metric import Reduction

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def schedule_message(samples: list[SampleShape], geometry: StepGeometry | None = None) -> ScheduleMessage:
    """The record of one step of these samples, as the scheduler places them."""
    geometry = geometry or step_geometry(dp_size=2)
    schedule = build_dp_schedule(
        samples,
        [range(len(samples))],
        geometry=geometry,
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )
    step, certificate = schedule.step(0), schedule.certificates[0]
    figures = step_figures(
        step,
        lengths=[sample.num_tokens for sample in samples],
        geometry=geometry,
        cost_model=COST_MODEL,
    )
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
        samples=SampleColumns(
            sample_id=certificate.sample_ids,
            rollout_id=tuple(sample.rollout_id for sample in samples),
            group_id=tuple(sample.group_id for sample in samples),
            num_tokens=tuple(sample.num_tokens for sample in samples),
            num_loss_tokens=tuple(sample.num_loss_tokens for sample in samples),
            weight=tuple(map(str, certificate.weights)),
            reward=(1.0,) * len(samples),
            advantage=(None,) * len(samples),
            policy_version=(0,) * len(samples),
        ),
        micro_batches=step.micro_batches,
        predicted_cost=figures.predicted_cost,
        measured_s=figures.predicted_cost,
        sample_cost=figures.sample_cost,
        loss_aggregation=certificate.loss_aggregation,
        certificate_sha256=certificate.sha256,
    )


def step_message(**changes: Any) -> StepMessage:
    values: dict[str, Any] = {
        "step": 0,
        "iteration": 0,
        "phase": "rl",
        "status": "trained",
        "started_at": AT,
        "ended_at": AT + timedelta(seconds=2),
        "policy_version": 0,
        "global_batch_size": 2,
        "num_prompts": 2,
        "num_rollouts": 2,
        "num_tokens": 7,
        "num_loss_tokens": 7,
        "num_microbatches": 1,
        "num_dummies": 0,
        "num_over_cap": 0,
        "num_generated": 4,
        "num_filtered": 2,
        "num_dropped": 0,
        "lr": 1e-3,
        "lr_unit": "samples",
        "lr_position_before": 0,
        "lr_position_after": 2,
        "predicted_idle_frac": 0.1,
        "measured_idle_frac": 0.2,
        "idle_bound_frac": 0.1,
        "padding_frac": 0.0,
        "metrics": {"train/loss": MetricMessage(value=0.5, weight=2, reduction=Reduction.MEAN)},
        "schedule": schedule_message(sample_shapes([3, 4])),
    }
    return StepMessage.model_validate(values | changes)


MESSAGES: list[BaseModel] = [
    AttemptLaunch(
        run_id="r",
        attempt=1,
        spec=run_spec(),
        server_url="http://127.0.0.1:8642",
        ingest_token="t",
        run_dir="runs/r",
    ),
    StepsBatch(attempt=1, steps=(step_message(), step_message(step=2**53 - 1))),
    EventsBatch(attempt=2, events=(EventMessage(key="e", kind="empty", at=AT, message="no group", data={"n": 8}),)),
    StateReport(attempt=1, outcome="failed", at=AT, reason="a rank died\n\ntraceback"),
    Heartbeat(attempt=1, at=AT, activity="generating", num_steps=3, total_steps=None),
    IngestAnswer(accepted=1, duplicates=0, desired_state=DesiredState.STOP),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_survives_json(message: BaseModel) -> None:
    assert type(message).model_validate_json(message.model_dump_json()) == message


@given(
    st.one_of(
        st.none(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["NaN", "Infinity", "-Infinity"])
    ),
    st.floats(0, allow_infinity=False),
    st.sampled_from(Reduction),
)
def test_a_metric_survives_json_exactly(value: float | str | None, weight: float, reduction: Reduction) -> None:
    message = MetricMessage.model_validate({"value": value, "weight": weight, "reduction": reduction})
    assert MetricMessage.model_validate_json(message.model_dump_json()) == message


@given(shapes_of_an_iteration(most_rollouts=10), geometries())
def test_a_schedule_survives_json(samples: list[SampleShape], geometry: StepGeometry) -> None:
    message = schedule_message(samples, geometry)
    assert ScheduleMessage.model_validate_json(message.model_dump_json()) == message


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "nan", "inf"])
def test_numbers_that_json_has_not_travel_as_their_names_only(value: object) -> None:
    with pytest.raises(ValidationError):
        MetricMessage.model_validate({"value": value, "weight": 1, "reduction": "mean"})


@pytest.mark.parametrize("step", [-1, 2**53, 1.0, "1", True])
def test_a_step_is_an_integer_that_a_browser_can_hold(step: object) -> None:
    with pytest.raises(ValidationError):
        step_message(step=step)


def test_columns_of_different_lengths_are_refused_by_name() -> None:
    columns = schedule_message(sample_shapes([3, 4])).samples.model_dump()
    with pytest.raises(ValidationError, match="reward has 1 entries, sample_id has 2"):
        SampleColumns.model_validate(columns | {"reward": [0.5]})


@pytest.mark.parametrize("weight", ["1/0", "-1/2", "0.5", "1/2\n", ""])
def test_a_weight_is_an_exact_fraction(weight: str) -> None:
    columns = schedule_message(sample_shapes([3])).samples.model_dump()
    with pytest.raises(ValidationError):
        SampleColumns.model_validate(columns | {"weight": [weight]})


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        step_message(started_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_batch_holds_at_least_one_step_and_no_unknown_field() -> None:
    with pytest.raises(ValidationError):
        StepsBatch(attempt=1, steps=())
    with pytest.raises(ValidationError, match="Extra inputs"):
        step_message(surprise=1)
