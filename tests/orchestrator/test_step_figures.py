from __future__ import annotations

import pytest

from orchestrator.contracts.schedule_spec import Balance, Barrier
from orchestrator.step_figures import measured_makespan_s, step_figures
from tests.orchestrator.factories import COST_MODEL, scheduled, step_geometry


def test_figures_tell_costs_idle_and_dummies() -> None:
    lengths = [6, 3, 3, 3]
    geometry = step_geometry(dp_size=2, token_cap=3, balance=Balance.TOKENS)
    step = scheduled(lengths, geometry).step(0)
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=COST_MODEL)
    assert figures.sample_cost == tuple(map(COST_MODEL.cost, lengths))
    ranks = [sum(rank) for rank in figures.predicted_cost]
    assert figures.predicted_idle_frac == pytest.approx(1 - sum(ranks) / (len(ranks) * max(ranks)))
    assert figures.num_over_cap == 1
    assert figures.num_dummies == sum(cost == 0 for rank in figures.predicted_cost for cost in rank)


def test_a_dummy_that_runs_costs_as_much_as_one_token_and_counts_as_idle() -> None:
    geometry = step_geometry(dp_size=2, pp=2)
    running = step_figures(scheduled([5], geometry).step(0), lengths=[5], geometry=geometry, cost_model=COST_MODEL)
    assert sorted(running.predicted_cost) == [(COST_MODEL.cost(1),), (COST_MODEL.cost(5),)]
    # One of two stages of one of two ranks works at a time.
    assert running.predicted_idle_frac == running.idle_bound_frac == 0.75


def test_measured_times_meet_at_the_end_of_the_step_and_go_through_a_pipeline() -> None:
    measured = ((3.0, 1.0), (2.0, 2.0))
    assert measured_makespan_s(measured, step_geometry(dp_size=2)) == 4
    assert measured_makespan_s(measured, step_geometry(dp_size=2, barrier=Barrier.MICRO_BATCH)) == 4
    # Two stages: the second waits for the first micro-batch's forward, the first for its backward.
    assert measured_makespan_s(((3.0, 3.0, 3.0),), step_geometry(pp=2)) == pytest.approx(12)
