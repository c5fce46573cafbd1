"""What a driver tells beside its steps: heartbeats, its last word, events."""

from __future__ import annotations

import pytest

from orchestrator.contracts.messages import EventsBatch
from orchestrator.contracts.run_state import RunTrigger
from tests.server.factories import beat_json, event_message, report_json, step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_a_heartbeat_makes_the_run_running_and_tells_its_activity(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=beat_json(1), headers=run.headers)
    assert answer.json() == {"accepted": 1, "duplicates": 0, "desired_state": "run"}
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["activity"], summary["total_steps"]) == ("running", "generating", 80)
    assert summary["last_heartbeat_at"] > "2026-02"  # the server's clock, not the driver's


def test_a_lost_run_comes_back_with_the_next_record(server: LiveServer) -> None:
    run = server.launch()
    server.services.runs.apply(run.id, RunTrigger.SILENCE, reason="no heartbeat")
    assert server.get(f"/runs/{run.id}")["state"] == "lost"
    server.record(run, step_message(0))
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("running", None)


def test_a_driver_is_told_to_stop_once_somebody_cancelled(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    server.http.post(f"/api/v1/runs/{run.id}/cancel", json={"mode": "graceful"})
    assert server.record(run, step_message(1)).json()["desired_state"] == "stop"


@pytest.mark.parametrize(("outcome", "state"), [("succeeded", "succeeded"), ("failed", "failed")])
def test_the_last_word_of_a_driver_ends_the_run(server: LiveServer, outcome: str, state: str) -> None:
    run = server.launch()
    path = f"/api/v1/runs/{run.id}/state"
    answers = [server.http.post(path, json=report_json(outcome), headers=run.headers).json() for _ in range(2)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(1, 0), (0, 1)]
    assert server.get(f"/runs/{run.id}")["state"] == state
    other = server.http.post(path, json=report_json("stopped"), headers=run.headers)
    assert (other.status_code, other.json()["type"]) == (409, "/problems/conflicting-outcome")
    kinds = [event["kind"] for event in server.get(f"/runs/{run.id}/events")["items"]]
    assert kinds.count(f"run.{state}") == 1


def test_a_stopped_driver_leaves_the_run_stopping_until_its_process_is_gone(server: LiveServer) -> None:
    run = server.launch()
    server.http.post(f"/api/v1/runs/{run.id}/cancel")
    server.http.post(f"/api/v1/runs/{run.id}/state", json=report_json("stopped"), headers=run.headers)
    assert server.get(f"/runs/{run.id}")["state"] == "stopping"
    assert server.services.runs.attempt(run.id, 1).outcome == "stopped"
    server.services.runs.apply(run.id, RunTrigger.STOPPED)
    assert server.get(f"/runs/{run.id}")["state"] == "cancelled"


def test_a_driver_that_stops_unasked_fails_the_run(server: LiveServer) -> None:
    run = server.launch()
    server.http.post(f"/api/v1/runs/{run.id}/state", json=report_json("stopped"), headers=run.headers)
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("failed", "The driver stopped although nobody asked it to.")


def test_what_is_odd_about_a_run_that_succeeded_is_kept(server: LiveServer) -> None:
    run = server.launch()
    report = report_json("succeeded") | {"reason": "finished; 3 of 3 iterations trained nothing"}
    server.http.post(f"/api/v1/runs/{run.id}/state", json=report, headers=run.headers)
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("succeeded", report["reason"])
    assert server.get(f"/runs/{run.id}/events")["items"][-1]["message"] == report["reason"]


def test_events_are_recorded_once(server: LiveServer) -> None:
    run = server.launch()
    batch = EventsBatch(attempt=1, events=(event_message("a"), event_message("b", data={"n": [1, None, {"x": "损"}]})))
    path = f"/api/v1/runs/{run.id}/events:batch"
    answers = [server.http.post(path, json=batch.model_dump(mode="json"), headers=run.headers).json() for _ in range(2)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(2, 0), (0, 2)]
    other = EventsBatch(attempt=1, events=(event_message("a", message="other"),)).model_dump(mode="json")
    assert server.http.post(path, json=other, headers=run.headers).status_code == 409
    told = [event for event in server.get(f"/runs/{run.id}/events")["items"] if event["kind"] == "note"]
    assert [event["data"] for event in told] == [{}, {"n": [1, None, {"x": "损"}]}]


def test_events_come_in_pages(server: LiveServer) -> None:
    run = server.launch()
    events = tuple(event_message(f"e{i}") for i in range(5))
    batch = EventsBatch(attempt=1, events=events).model_dump(mode="json")
    server.http.post(f"/api/v1/runs/{run.id}/events:batch", json=batch, headers=run.headers)
    seen, after = [], 0
    while after is not None:
        page = server.get(f"/runs/{run.id}/events", after=after, limit=2)
        seen += [event["id"] for event in page["items"]]
        after = page["next_after"]
    assert len(seen) == len(set(seen)) == 5 + 3  # with queued, starting, running
    assert seen == sorted(seen)
