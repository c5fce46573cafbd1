from __future__ import annotations

import pytest

from orchestrator.contracts.schedule_spec import Balance
from orchestrator.step_figures import idle_frac, step_figures
from tests.orchestrator.factories import COST_MODEL, scheduled, step_geometry


def test_figures_tell_costs_idle_and_dummies() -> None:
    lengths = [6, 3, 3, 3]
    geometry = step_geometry(dp_size=2, token_cap=3, balance=Balance.TOKENS)
    step = scheduled(lengths, geometry).step(0)
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=COST_MODEL)
    assert figures.sample_cost == tuple(map(COST_MODEL.cost, lengths))
    ranks = [sum(rank) for rank in figures.predicted_cost]
    assert figures.predicted_idle_frac == pytest.approx(idle_frac(ranks))
    assert figures.num_over_cap == 1
    assert figures.num_dummies == sum(cost == 0 for rank in figures.predicted_cost for cost in rank)


def test_a_dummy_that_runs_costs_as_much_as_one_token_and_counts_as_idle() -> None:
    geometry = step_geometry(dp_size=2, pp=2)
    running = step_figures(scheduled([5], geometry).step(0), lengths=[5], geometry=geometry, cost_model=COST_MODEL)
    assert sorted(running.predicted_cost) == [(COST_MODEL.cost(1),), (COST_MODEL.cost(5),)]
    # One of two stages of one of two ranks works at a time.
    assert running.predicted_idle_frac == running.idle_bound_frac == 0.75


@pytest.mark.parametrize(
    ("busy", "idle"), [([9, 6, 3], 1 / 3), ([2.0, 2.0], 0), ([0.0, 0.0], 0), ([5], 0), ([4, 0], 0.5)]
)
def test_idle_is_the_share_of_waiting_until_the_last_rank_is_done(busy: list[float], idle: float) -> None:
    assert idle_frac(busy) == pytest.approx(idle)
