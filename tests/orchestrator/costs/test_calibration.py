from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.costs.calibration import MAX_MEASUREMENTS, MIN_MEASUREMENTS, CostCalibration, _non_negative_fit
from orchestrator.costs.cost_model import CostModel
from orchestrator.loss_weights import certify
from orchestrator.schedule import build_dp_schedule
from tests.orchestrator.factories import sample_shapes, step_geometry
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import StepSchedule

# What the machine really does, in seconds.
TRUE = CostModel(linear=2e-6, quadratic=4e-10, overhead=8e-3)
SHAPE = CostModel(linear=1e9, quadratic=1e5)

Times = Callable[[StepSchedule, list[int]], list[list[float]]]


def true_times(step: StepSchedule, lengths: list[int]) -> list[list[float]]:
    return [
        [TRUE.overhead + sum(TRUE.cost(lengths[i]) for i in own) if own else 0.0 for own in rank]
        for rank in step.micro_batches
    ]


def measured(
    num_steps: int, *, noise: float = 0.0, times: Times = true_times, longest: int = 8000, cap: int = 8000, cp: int = 1
) -> CostCalibration:
    calibration, rng = CostCalibration(cp=cp), np.random.default_rng(3)
    for _ in range(num_steps):
        lengths = np.clip(rng.lognormal(7, 0.9, 60), 1, longest).astype(int).tolist()
        step = build_dp_schedule(
            sample_shapes(lengths),
            [range(len(lengths))],
            geometry=step_geometry(dp_size=4, token_cap=cap),
            cost_model=SHAPE,
            loss_aggregation=LossAggregation.TOKEN_MEAN,
        ).step(0)
        seconds = [[s * rng.lognormal(0, noise) for s in rank] for rank in times(step, lengths)]
        calibration.add(step, lengths=lengths, micro_batch_s=seconds)
    return calibration


def micro_batch_cost(model: CostModel, lengths: list[int]) -> float:
    return model.overhead + sum(map(model.cost, lengths))


def ratio(model: CostModel) -> float:
    """Cost of a crowd of short samples over that of a long one: what the scheduler weighs."""
    return micro_batch_cost(model, [100] * 20) / micro_batch_cost(model, [6000])


def test_the_machine_is_found_without_noise() -> None:
    model = measured(20).model(SHAPE)
    assert model.linear / model.overhead == pytest.approx(TRUE.linear / TRUE.overhead, rel=1e-6)
    assert model.quadratic / model.linear == pytest.approx(TRUE.quadratic / TRUE.linear, rel=1e-6)


def test_noise_leaves_the_machine_recognisable() -> None:
    assert ratio(measured(60, noise=0.1).model(SHAPE)) == pytest.approx(ratio(TRUE), rel=0.05)
    assert ratio(SHAPE) != pytest.approx(ratio(TRUE), rel=0.2)


def test_slow_first_steps_have_no_say() -> None:
    num_seen = 0

    def cold(step: StepSchedule, lengths: list[int]) -> list[list[float]]:
        nonlocal num_seen
        num_seen += 1
        return [[30 * s + 1 for s in rank] if num_seen <= 3 else rank for rank in true_times(step, lengths)]

    assert ratio(measured(30, noise=0.03, times=cold).model(SHAPE)) == pytest.approx(ratio(TRUE), rel=0.05)


def test_few_measurements_change_nothing() -> None:
    assert measured(1).model(SHAPE) is SHAPE
    assert CostCalibration().model(SHAPE) is SHAPE


def test_equal_micro_batches_cannot_tell_what_makes_them_slow() -> None:
    calibration, lengths = CostCalibration(), [500] * 8
    certificate = certify(sample_shapes(lengths), loss_aggregation=LossAggregation.TOKEN_MEAN, constant_tokens=None)
    step = StepSchedule(micro_batches=(((0, 1), (2, 3)), ((4, 5), (6, 7))), certificate=certificate)
    for _ in range(MIN_MEASUREMENTS):
        calibration.add(step, lengths=lengths, micro_batch_s=[[0.1, 0.1], [0.1, 0.1]])
    assert calibration.model(SHAPE) is SHAPE


def test_costs_stay_in_the_units_of_the_shape() -> None:
    model = measured(20).model(SHAPE)
    lengths = [1500] * 5
    assert micro_batch_cost(model, lengths) == pytest.approx(micro_batch_cost(SHAPE, lengths), rel=0.5)


def test_a_context_parallel_rank_is_measured_on_its_own_part() -> None:
    def shared(step: StepSchedule, lengths: list[int]) -> list[list[float]]:
        part = TRUE.per_context_parallel_rank(4)
        return [
            [part.overhead + sum(part.cost(lengths[i]) for i in own) for own in rank] for rank in step.micro_batches
        ]

    model = measured(20, times=shared, cp=4).model(SHAPE)
    assert model.linear / model.overhead == pytest.approx(TRUE.linear / TRUE.overhead, rel=1e-6)


def test_only_recent_micro_batches_count() -> None:
    def turned(step: StepSchedule, lengths: list[int]) -> list[list[float]]:
        return [[float(sum(lengths[i] for i in own)) for own in rank] for rank in step.micro_batches]

    calibration = measured(10, times=turned)
    one = measured(1)
    while len(calibration._rows) < MAX_MEASUREMENTS:
        calibration._rows.extend(one._rows)
    for _ in range(10):
        calibration._rows.extend(measured(20)._rows)
    assert ratio(calibration.model(SHAPE)) == pytest.approx(ratio(TRUE), rel=1e-6)


def test_the_same_measurements_give_the_same_model() -> None:
    assert measured(10, noise=0.2).model(SHAPE) == measured(10, noise=0.2).model(SHAPE)


@given(st.integers(0, 2**32))
def test_no_other_non_negative_fit_is_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, wanted = rng.random((12, 3)), rng.normal(size=12) + 0.5
    found = _non_negative_fit(columns, wanted)
    assert found.min() >= 0
    miss = ((columns @ found - wanted) ** 2).sum()
    for other in np.abs(found + rng.normal(scale=rng.choice([0.01, 0.3]), size=(50, 3))):
        assert miss <= ((columns @ other - wanted) ** 2).sum() + 1e-12
