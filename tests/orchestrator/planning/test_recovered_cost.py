import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.messages import ScheduleMessage
from orchestrator.costs.cost_model import CostModel
from orchestrator.planning.recovered_cost import recovered_cost_model
from tests.orchestrator.factories import sample_shapes, step_geometry
from tests.orchestrator.planning.factories import stored_schedule

LENGTHS = st.lists(st.integers(1, 100_000), min_size=1, max_size=50)


def scheduled(lengths: list[int], cost_model: CostModel, cp: int = 1) -> ScheduleMessage:
    geometry = step_geometry(dp_size=2, token_cap=50_000, cp=cp)
    return stored_schedule(sample_shapes(lengths), geometry, cost_model=cost_model)


@given(
    LENGTHS.filter(lambda lengths: len(set(lengths)) > 1),
    st.integers(1, 10**12),
    st.integers(0, 10**6),
    st.integers(1, 4),
)
def test_whole_numbers_of_operations_come_back_exactly(
    lengths: list[int], linear: int, quadratic: int, cp: int
) -> None:
    schedule = scheduled(lengths, CostModel(linear=linear, quadratic=quadratic), cp)
    costs = CostModel(linear=linear, quadratic=quadratic).costs(lengths)
    np.testing.assert_allclose(recovered_cost_model(schedule).costs(lengths), costs, rtol=1e-11)


def test_a_shape_comes_back_as_it_was() -> None:
    cost_model = CostModel(linear=6e9, quadratic=147_456.0)
    assert recovered_cost_model(scheduled([3, 700, 41], cost_model)) == cost_model
    assert recovered_cost_model(scheduled([3, 700, 41], cost_model, cp=3)) == cost_model


def test_an_overhead_comes_back_with_it() -> None:
    cost_model = CostModel(linear=1.0, quadratic=0.01, overhead=20.0)
    assert recovered_cost_model(scheduled([3, 700, 41], cost_model)) == cost_model


@given(LENGTHS, st.floats(1e-9, 1e9), st.floats(0, 1e3), st.floats(0, 1e6))
def test_any_coefficients_come_back_closely(
    lengths: list[int], linear: float, quadratic: float, overhead: float
) -> None:
    cost_model = CostModel(linear=linear, quadratic=quadratic, overhead=overhead)
    recovered = recovered_cost_model(scheduled(lengths, cost_model))
    costs = cost_model.costs(lengths)
    np.testing.assert_allclose(recovered.costs(lengths), costs, rtol=1e-6)
    assert recovered.overhead == pytest.approx(overhead, rel=1e-6, abs=1e-9 * float(costs.sum()))


def test_samples_without_costs_go_by_tokens() -> None:
    schedule = scheduled([1, 2, 3], CostModel(linear=1, quadratic=0))
    without = schedule.model_copy(update={"sample_cost": (0.0, 0.0, 0.0)})
    assert recovered_cost_model(without) == CostModel(linear=1, quadratic=0)


def test_costs_that_fit_no_model_give_one_that_can_be_used() -> None:
    schedule = scheduled([1, 10], CostModel(linear=1, quadratic=0))
    odd = schedule.model_copy(update={"sample_cost": (50.0, 1.0)})
    assert recovered_cost_model(odd).cost(10) == pytest.approx(1.0)
