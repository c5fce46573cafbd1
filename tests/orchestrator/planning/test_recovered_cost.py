import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cost_model import CostModel
from orchestrator.planning.recovered_cost import recovered_cost_model

LENGTHS = st.lists(st.integers(1, 100_000), min_size=1, max_size=50)


@given(LENGTHS.filter(lambda lengths: len(set(lengths)) > 1), st.integers(1, 10**12), st.integers(0, 10**6))
def test_whole_numbers_of_operations_come_back_exactly(lengths: list[int], linear: int, quadratic: int) -> None:
    costs = CostModel(linear=linear, quadratic=quadratic).costs(lengths)
    np.testing.assert_array_equal(recovered_cost_model(lengths, costs.tolist()).costs(lengths), costs)


@given(LENGTHS, st.floats(1e-9, 1e9), st.floats(0, 1e3))
def test_any_coefficients_come_back_closely(lengths: list[int], linear: float, quadratic: float) -> None:
    costs = CostModel(linear=linear, quadratic=quadratic).costs(lengths)
    np.testing.assert_allclose(recovered_cost_model(lengths, costs.tolist()).costs(lengths), costs, rtol=1e-6)


def test_samples_without_costs_go_by_tokens() -> None:
    assert recovered_cost_model([1, 2, 3], [0, 0, 0]) == CostModel(linear=1, quadratic=0)


def test_costs_that_fit_no_model_give_one_that_can_be_used() -> None:
    recovered = recovered_cost_model([1, 10], [50.0, 1.0])
    assert recovered.cost(10) == pytest.approx(1.0)
