from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.runs.changed_spec import merge_patch
from tests.server.factories import START, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        # The examples of RFC 7396
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": "foo"}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        # Blocks of another type share no fields.
        ({"batch": {"type": "fixed", "size": 4}}, {"batch": {"type": "all"}}, {"batch": {"type": "all"}}),
    ],
)
def test_a_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def failed(server: LiveServer) -> LaunchedRun:
    run = server.launch()
    server.record(run, step_message(0), step_message(1))
    server.services.runs.apply(run.id, RunTrigger.FAIL, reason="no wood")
    return run


@pytest.mark.stack
def test_a_retried_run_goes_on_with_its_next_attempt(server: LiveServer) -> None:
    run = failed(server)
    told = server.http.post(f"/api/v1/runs/{run.id}/retry").json()
    assert (told["state"], told["reason"], told["ended_at"], told["attempt"]) == ("queued", None, None, 1)
    launched = server.services.runs.launch(run.id)
    assert launched is not None
    again = LaunchedRun(id=run.id, attempt=launched.number, token=launched.ingest_token)
    assert again.attempt == 2
    assert server.record(again, step_message(1), step_message(2)).status_code == 200
    assert server.record(run, step_message(2)).json()["type"] == "/problems/stale-attempt"
    assert [step["attempt"] for step in server.get(f"/runs/{run.id}/steps")["items"]] == [1, 2, 2]
    events = server.get(f"/runs/{run.id}/events")["items"]
    assert "admin asked for another try" in [event["message"] for event in events]


@pytest.mark.stack
def test_a_run_that_waits_for_another_try_has_not_started(server: LiveServer) -> None:
    run = failed(server)
    began = server.get(f"/runs/{run.id}")["started_at"]
    assert server.http.post(f"/api/v1/runs/{run.id}/retry").json()["started_at"] is None
    server.services.runs.launch(run.id)
    assert server.get(f"/runs/{run.id}")["started_at"] > began
    server.services.runs.fail_or_restart(run.id, reason="died", attempt=2)
    told = server.http.post(f"/api/v1/runs/{run.id}/cancel", json={"mode": "graceful"}).json()
    assert (told["state"], told["started_at"]) == ("cancelled", None)


@pytest.mark.stack
def test_a_retried_run_has_all_its_restarts_again(server: LiveServer) -> None:
    run = server.launch(limits={"max_restarts": 1})
    store = server.services.runs
    assert store.fail_or_restart(run.id, reason="died", attempt=1) is RunState.QUEUED
    store.launch(run.id)
    assert store.fail_or_restart(run.id, reason="died", attempt=2) is RunState.FAILED
    server.http.post(f"/api/v1/runs/{run.id}/retry")
    store.launch(run.id)
    assert store.fail_or_restart(run.id, reason="died", attempt=3) is RunState.QUEUED
    store.launch(run.id)
    assert store.fail_or_restart(run.id, reason="died", attempt=4) is RunState.FAILED


@pytest.mark.stack
def test_a_cancelled_run_that_is_retried_is_not_stopped_again(server: LiveServer) -> None:
    run_id = server.submit()
    server.http.post(f"/api/v1/runs/{run_id}/cancel", json={"mode": "kill"})
    server.http.post(f"/api/v1/runs/{run_id}/retry")
    record = server.services.runs.run(run_id)
    assert (record.state, record.stop_mode, record.stop_requested_at) == (RunState.QUEUED, None, None)


@pytest.mark.stack
def test_only_a_run_that_ended_without_success_is_retried(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.post(f"/api/v1/runs/{run.id}/retry")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/not-retryable")
    assert server.http.post("/api/v1/runs/nobody/retry").status_code == 404


@pytest.mark.stack
def test_a_clone_has_the_changes_and_tells_where_it_comes_from(server: LiveServer) -> None:
    parent = server.submit(tags={"task": "spelling"})
    changes = {"name": "faster", "optimizer": {"lr": 5e-3}, "batch": {"type": "fixed", "global_batch_size": 8}}
    answer = server.http.post(f"/api/v1/runs/{parent}/clone", json={"changes": changes})
    clone = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/api/v1/runs/{clone['id']}")
    assert (clone["parent_id"], clone["name"], clone["tags"]) == (parent, "faster", {"task": "spelling"})
    expected = spec_json(tags={"task": "spelling"}, name="faster", batch=changes["batch"])
    expected["optimizer"] = {"lr": 5e-3}
    other = server.http.post("/api/v1/runs", json=expected).json()
    assert clone["spec"] == other["spec"]
    assert other["parent_id"] is None
    plain = server.http.post(f"/api/v1/runs/{parent}/clone").json()
    known = server.get(f"/runs/{parent}")["spec"]
    assert plain["spec"] == known | {"name": f"{known['name']}-2"}


@pytest.mark.stack
@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"optimizer": {"lr": "fast"}}, ["/changes/optimizer/lr"]),
        ({"nonsense": 1}, ["/changes/nonsense"]),
        ({"name": None}, ["/changes/name"]),
        ({"model": {"type": "huggingface", "path": "/nowhere"}}, ["/changes/model/path"]),
        (
            {"batch": {"type": "fixed", "global_batch_size": 99, "remainder": "drop"}},
            ["/changes/batch/global_batch_size", "/changes/data/rollout_batch_size", "/changes/rollout/group_size"],
        ),
    ],
)
def test_changes_that_cannot_be_are_refused(
    sqlite_server: LiveServer, changes: dict[str, Any], pointers: list[str]
) -> None:
    parent = sqlite_server.submit()
    answer = sqlite_server.http.post(f"/api/v1/runs/{parent}/clone", json={"changes": changes})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == pointers
    assert sqlite_server.get("/runs")["total"] == 1


def save(server: LiveServer, run: LaunchedRun, *steps: int, removed: bool = False) -> None:
    """Tell checkpoints as a driver does, and later that they were removed."""
    at = START + timedelta(seconds=removed)
    message = {
        "iteration": 0,
        "phase": "rl",
        "policy_version": 0,
        "at": at.isoformat(),
        "directory": "/d",
        "num_bytes": 1,
        "write_s": 0.1,
        "removed": removed,
    }
    body = {"attempt": run.attempt, "checkpoints": [{**message, "step": step} for step in steps]}
    answer = server.http.post(f"/api/v1/runs/{run.id}/checkpoints:batch", json=body, headers=run.headers)
    assert answer.status_code == 200, answer.text


def next_launch(server: LiveServer, run: LaunchedRun) -> tuple[LaunchedRun, int | None]:
    launched = server.services.runs.launch(run.id)
    assert launched is not None
    again = LaunchedRun(id=run.id, attempt=launched.number, token=launched.ingest_token)
    return again, launched.resume_step


@pytest.mark.stack
def test_a_run_is_retried_from_one_of_its_checkpoints(server: LiveServer) -> None:
    run = server.launch(limits={"max_restarts": 5})
    save(server, run, 10, 20, 30, 40)
    save(server, run, 10, removed=True)
    store = server.services.runs
    store.apply(run.id, RunTrigger.FAIL, reason="no wood")
    path = f"/api/v1/runs/{run.id}/retry"
    for wrong in (10, 25):
        answer = server.http.post(path, json={"from_step": wrong})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/from_step")
        assert answer.json()["errors"][0]["detail"] == f"there is no checkpoint of step {wrong}; there are: 20, 30, 40"
    assert server.http.post(path, json={"from_step": 20}).json()["state"] == "queued"
    _, step = next_launch(server, run)
    assert step == 20
    # It dies before it has saved anything: the curve after step 20 stays given up.
    store.fail_or_restart(run.id, reason="died", attempt=2)
    third, step = next_launch(server, run)
    assert step == 20
    save(server, third, 25)
    store.fail_or_restart(run.id, reason="died", attempt=3)
    _, step = next_launch(server, run)
    assert step == 25
    store.apply(run.id, RunTrigger.FAIL, reason="no wood")
    server.http.post(path)
    assert next_launch(server, run)[1] is None
