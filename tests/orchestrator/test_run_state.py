from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.run_state import TRANSITIONS, RunState, RunTrigger, next_state

TERMINAL = [state for state in RunState if state.is_terminal]


@pytest.mark.parametrize("state", TERMINAL)
@pytest.mark.parametrize("trigger", [trigger for trigger in RunTrigger if trigger is not RunTrigger.RETRY])
def test_nothing_but_a_retry_leaves_a_terminal_state(state: RunState, trigger: RunTrigger) -> None:
    assert next_state(state, trigger) is None


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_reached_from_queued(state: RunState) -> None:
    reached = {RunState.QUEUED}
    while new := {after for (before, _), after in TRANSITIONS.items() if before in reached} - reached:
        reached |= new
    assert state in reached


@pytest.mark.parametrize("state", [state for state in RunState if not state.is_terminal])
def test_every_run_can_end(state: RunState) -> None:
    ways_out = {after for (before, _), after in TRANSITIONS.items() if before is state}
    assert any(after.is_terminal or after is RunState.STOPPING for after in ways_out) or state is RunState.STARTING
    assert next_state(state, RunTrigger.FAIL) in (RunState.FAILED, RunState.CANCELLED)


@pytest.mark.parametrize("state", RunState)
def test_only_what_ended_without_success_is_retried(state: RunState) -> None:
    retried = next_state(state, RunTrigger.RETRY)
    assert retried is (RunState.QUEUED if state in (RunState.FAILED, RunState.CANCELLED) else None)


@given(st.lists(st.sampled_from([trigger for trigger in RunTrigger if trigger is not RunTrigger.RETRY]), max_size=30))
def test_a_run_that_was_asked_to_stop_does_not_run_again(triggers: Sequence[RunTrigger]) -> None:
    state, asked = RunState.QUEUED, False
    for trigger in triggers:
        after = next_state(state, trigger)
        if after is None:
            continue
        asked = asked or trigger is RunTrigger.CANCEL
        assert after is not state
        state = after
        assert not asked or state.is_terminal or state is RunState.STOPPING


def test_only_a_job_can_be_lost_and_it_can_come_back() -> None:
    lost_from = [before for (before, _), after in TRANSITIONS.items() if after is RunState.LOST]
    assert all(state.has_job for state in lost_from)
    assert next_state(RunState.LOST, RunTrigger.REPORT) is RunState.RUNNING


def test_a_terminal_run_has_no_job() -> None:
    assert not any(state.has_job for state in TERMINAL)
