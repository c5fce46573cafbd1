from __future__ import annotations

from typing import Any

import pytest

from orchestrator.contracts.run_state import RunState, RunTrigger
from tests.server.factories import START, step_message
from tests.server.live_server import LaunchedRun, LiveServer

pytestmark = pytest.mark.stack


def beat(server: LiveServer, run: LaunchedRun, **changes: Any) -> str:
    """What the server wants of a driver that gives a sign of life."""
    body = {"attempt": run.attempt, "at": START.isoformat(), "activity": "", "num_steps": 0, "total_steps": None}
    answer = server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=body | changes, headers=run.headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["desired_state"])


def ask(server: LiveServer, run: LaunchedRun, what: str) -> str:
    answer = server.http.post(f"/api/v1/runs/{run.id}/{what}")
    return str(answer.json()["state"] if answer.status_code == 200 else answer.json()["type"])


def changes_of(server: LiveServer, run: LaunchedRun) -> list[str]:
    return [event["kind"].removeprefix("run.") for event in server.get(f"/runs/{run.id}/events")["items"]]


def test_a_run_pauses_when_its_driver_says_so_and_goes_on(server: LiveServer) -> None:
    run = server.launch()
    assert ask(server, run, "pause") == "/problems/not-pausable"
    server.record(run, step_message(0))
    assert [ask(server, run, "pause") for _ in range(2)] == ["pausing", "pausing"]
    assert server.record(run, step_message(1)).json()["desired_state"] == "pause"
    assert beat(server, run) == "pause"
    assert server.get(f"/runs/{run.id}")["state"] == "pausing"
    assert [beat(server, run, is_paused=True) for _ in range(2)] == ["pause", "pause"]
    assert server.get(f"/runs/{run.id}")["state"] == "paused"
    assert ask(server, run, "pause") == "paused"
    assert [ask(server, run, "resume") for _ in range(2)] == ["running", "running"]
    assert beat(server, run, is_paused=True) == "run"
    assert server.get(f"/runs/{run.id}")["state"] == "running"
    assert changes_of(server, run) == ["queued", "starting", "running", "pausing", "paused", "running"]
    events = server.get(f"/runs/{run.id}/events")["items"]
    assert [event["message"] for event in events[3::2]] == ["admin asked to pause", "admin asked to go on"]


def test_a_wish_to_pause_can_be_taken_back_before_it_came_true(server: LiveServer) -> None:
    run = server.launch()
    beat(server, run)
    ask(server, run, "pause")
    assert ask(server, run, "resume") == "running"
    assert beat(server, run) == "run"


def test_a_paused_run_can_be_cancelled_and_its_driver_hears_it(server: LiveServer) -> None:
    run = server.launch()
    beat(server, run)
    ask(server, run, "pause")
    beat(server, run, is_paused=True)
    assert ask(server, run, "cancel") == "stopping"
    assert beat(server, run, is_paused=True) == "stop"
    assert ask(server, run, "resume") == "/problems/not-paused"
    server.services.runs.apply(run.id, RunTrigger.STOPPED)
    assert changes_of(server, run)[-3:] == ["paused", "stopping", "cancelled"]


def test_a_paused_run_that_was_lost_goes_on_when_it_is_heard_again(server: LiveServer) -> None:
    run = server.launch()
    beat(server, run)
    ask(server, run, "pause")
    beat(server, run, is_paused=True)
    server.services.runs.apply(run.id, RunTrigger.SILENCE, reason="No heartbeat for 31 s.")
    assert beat(server, run, is_paused=True) == "run"
    assert server.services.runs.run(run.id).state is RunState.RUNNING


def test_a_run_that_finishes_while_it_shall_pause_has_succeeded(server: LiveServer) -> None:
    for is_paused in (False, True):
        run = server.launch()
        beat(server, run)
        ask(server, run, "pause")
        beat(server, run, is_paused=is_paused)
        report = {"attempt": 1, "outcome": "succeeded", "at": START.isoformat()}
        server.http.post(f"/api/v1/runs/{run.id}/state", json=report, headers=run.headers)
        assert changes_of(server, run)[-1] == "succeeded"
