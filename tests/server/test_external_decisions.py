from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.contracts.run_state import RunState, RunTrigger, next_state
from server.external.decisions import ExternalDeadlines, ExternalView, decide

DEADLINES = ExternalDeadlines(silence_s=120, pause_s=600, stop_s=60)


def run(state: RunState, **changes: Any) -> ExternalView:
    values = {"silent_s": 0.0, "pausing_s": 0.0, "stopping_s": 0.0, "must_be_killed": False, **changes}
    return ExternalView(state=state, **values)


@pytest.mark.parametrize(
    ("view", "trigger"),
    [
        (run(RunState.STARTING, silent_s=119), None),
        (run(RunState.STARTING, silent_s=121), RunTrigger.SILENCE),
        (run(RunState.RUNNING, silent_s=119), None),
        (run(RunState.RUNNING, silent_s=121), RunTrigger.SILENCE),
        (run(RunState.LOST, silent_s=1e9), None),
        (run(RunState.PAUSING, pausing_s=599), None),
        (run(RunState.PAUSING, pausing_s=601), RunTrigger.RESUME),
        (run(RunState.PAUSED, pausing_s=1e9), None),
        (run(RunState.PAUSED, silent_s=121), RunTrigger.SILENCE),
        (run(RunState.STOPPING, stopping_s=59, silent_s=500), None),
        (run(RunState.STOPPING, stopping_s=61), RunTrigger.STOPPED),
        (run(RunState.STOPPING, must_be_killed=True), RunTrigger.STOPPED),
        (run(RunState.SUCCEEDED, silent_s=1e9), None),
    ],
)
def test_each_situation_has_its_change(view: ExternalView, trigger: RunTrigger | None) -> None:
    change = decide(view, DEADLINES)
    assert (change.trigger if change else None) is trigger


seconds = st.floats(0, 10_000)


@settings(deadline=None)  # times say little on shared machines
@given(
    st.builds(
        ExternalView,
        state=st.sampled_from(RunState),
        silent_s=seconds,
        pausing_s=seconds,
        stopping_s=seconds,
        must_be_killed=st.booleans(),
    )
)
def test_every_change_is_in_the_table_of_transitions(view: ExternalView) -> None:
    change = decide(view, DEADLINES)
    assert change is None or next_state(view.state, change.trigger) is not None
