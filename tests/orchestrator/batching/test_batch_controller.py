from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.batch_controller import ControllerState, decide, initial_state
from orchestrator.batching.noise_scale import NoiseEstimate
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec, AdaptiveMode
from orchestrator.contracts.messages import BatchDecision


def adaptive_spec(**changes: Any) -> AdaptiveBatchSpec:
    values = {
        "type": "adaptive",
        "mode": "control",
        "global_batch_size": 32,
        "min_size": 8,
        "max_size": 256,
        "smoothing": 0.0,
        "warmup_steps": 0,
        "hysteresis": 0.25,
        "patience": 1,
    }
    return AdaptiveBatchSpec(**{**values, **changes})


def estimate(scale: float, *, num_effective: float = 32.0) -> NoiseEstimate:
    return NoiseEstimate(trace=scale, grad_sq=1.0, num_effective=num_effective)


def run(
    spec: AdaptiveBatchSpec, *estimates: NoiseEstimate | None, num_rollouts: int = 32
) -> tuple[ControllerState, list[BatchDecision]]:
    state, decisions = initial_state(spec), []
    for one in estimates:
        state, decision = decide(spec, state, estimate=one, num_rollouts=num_rollouts)
        decisions.append(decision)
    return state, decisions


def test_noise_scale_becomes_the_size():
    state, [decision] = run(adaptive_spec(), estimate(100))
    assert (decision.size_before, decision.proposed_size, decision.size_after) == (32, 100, 100)
    assert decision.noise_scale == 100
    assert state.size == 100
    assert "goes from 32 to 100" in decision.reason


def test_samples_become_rollouts_at_the_rate_of_the_step():
    """32 rollouts that average as well as 64 equal samples: 100 samples are 50 rollouts."""
    _, [decision] = run(adaptive_spec(), estimate(100, num_effective=64))
    assert decision.proposed_size == 50
    assert "2 effective samples per rollout" in decision.reason


def test_multiplier_scales_the_proposal():
    _, [decision] = run(adaptive_spec(multiplier=0.5), estimate(100))
    assert decision.proposed_size == 50


@pytest.mark.parametrize(("scale", "size", "bound"), [(0.0, 8, "min_size=8"), (1e9, 256, "max_size=256")])
def test_bounds_hold_and_are_named(scale, size, bound):
    _, [decision] = run(adaptive_spec(), estimate(scale))
    assert decision.proposed_size == decision.size_after == size
    assert bound in decision.reason


def test_size_stays_within_the_hysteresis():
    for scale in (24, 40):
        _, [decision] = run(adaptive_spec(), estimate(scale))
        assert (decision.proposed_size, decision.size_after) == (scale, 32)
        assert "hysteresis=0.25" in decision.reason
    for scale in (23, 41):
        _, [decision] = run(adaptive_spec(), estimate(scale))
        assert decision.size_after == scale


def test_warm_up_proposes_nothing():
    _, decisions = run(adaptive_spec(warmup_steps=2), *[estimate(100)] * 3)
    assert [decision.proposed_size for decision in decisions] == [None, None, 100]
    assert [decision.noise_scale for decision in decisions] == [100, 100, 100]
    assert "1 of warmup_steps=2" in decisions[0].reason


def test_change_waits_for_patience():
    _, decisions = run(adaptive_spec(patience=3), *[estimate(100)] * 3)
    assert [decision.size_after for decision in decisions] == [32, 32, 100]
    assert "2 of patience=3" in decisions[1].reason


def test_opposite_wish_begins_the_count_anew():
    _, decisions = run(adaptive_spec(patience=2), estimate(100), estimate(9), estimate(100), estimate(9))
    assert {decision.size_after for decision in decisions} == {32}


def test_wish_within_the_hysteresis_ends_the_row():
    _, decisions = run(adaptive_spec(patience=2), estimate(100), estimate(32), estimate(100))
    assert {decision.size_after for decision in decisions} == {32}


def test_step_without_estimate_neither_counts_nor_ends_the_row():
    state, decisions = run(adaptive_spec(patience=2), estimate(100), None, estimate(100))
    assert [decision.size_after for decision in decisions] == [32, 32, 100]
    assert "gave no estimate" in decisions[1].reason
    assert decisions[1].noise_scale == 100
    assert state.noise.num_steps == 2


def test_step_without_gradient_uses_up_no_warm_up_and_is_told_as_such():
    spec = adaptive_spec(warmup_steps=2)
    before = initial_state(spec)
    after, decision = decide(spec, before, estimate=None, num_rollouts=32, has_gradient=False)
    assert after == before
    assert "no gradient" in decision.reason
    assert "noise hides" not in decision.reason


def test_hidden_gradient_keeps_the_size():
    hidden = NoiseEstimate(trace=5.0, grad_sq=-1.0, num_effective=32)
    _, [decision] = run(adaptive_spec(), hidden)
    assert (decision.noise_scale, decision.proposed_size, decision.size_after) == (None, None, 32)
    assert "noise hides the gradient" in decision.reason


@pytest.mark.parametrize("size", [None, 32])
def test_advice_is_recorded_and_never_followed(size):
    spec = adaptive_spec(mode="advise", global_batch_size=size, patience=2)
    state, decisions = run(spec, *[estimate(100)] * 4)
    assert state.size is size
    assert all((decision.size_before, decision.size_after) == (size, size) for decision in decisions)
    assert [decision.proposed_size for decision in decisions] == [100] * 4
    assert "mode=advise only says so" in decisions[-1].reason


def test_advice_without_a_size_is_held_against_the_step():
    spec = adaptive_spec(mode="advise", global_batch_size=None)
    _, [decision] = run(spec, estimate(110, num_effective=100), num_rollouts=100)
    assert "within hysteresis=0.25 of this step's 100" in decision.reason


ESTIMATES = st.none() | st.builds(
    NoiseEstimate, trace=st.floats(0, 1e12), grad_sq=st.floats(-1e6, 1e12), num_effective=st.floats(1.0, 1e5)
)


@given(
    estimates=st.lists(ESTIMATES, max_size=40),
    mode=st.sampled_from(AdaptiveMode),
    smoothing=st.floats(0.0, 0.99),
    patience=st.integers(1, 5),
    warmup_steps=st.integers(0, 5),
    hysteresis=st.floats(0.0, 2.0),
)
def test_whatever_is_measured_the_size_keeps_its_bounds_and_has_a_reason(estimates, mode, **settings):
    spec = adaptive_spec(mode=mode, **settings)
    size = spec.global_batch_size
    _, decisions = run(spec, *estimates)
    for decision in decisions:
        assert decision.size_before == size
        assert decision.reason.endswith(".")
        if decision.proposed_size is not None:
            assert spec.min_size <= decision.proposed_size <= spec.max_size
        if decision.size_after != size:
            assert mode is AdaptiveMode.CONTROL
            assert decision.size_after == decision.proposed_size
            assert abs(decision.size_after - size) > spec.hysteresis * size
        size = decision.size_after


@given(scale=st.floats(1.0, 1e4), patience=st.integers(1, 4))
def test_steady_noise_moves_the_size_once_at_most(scale, patience):
    _, decisions = run(adaptive_spec(patience=patience, smoothing=0.9), *[estimate(scale)] * 12)
    assert sum(decision.size_before != decision.size_after for decision in decisions) <= 1
