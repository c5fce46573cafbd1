from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.errors import NotFoundError
from server.runs.run_id import is_run_id
from tests.server.factories import spec_json, step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def test_a_submitted_run_is_queued_and_told_where_it_is(server: LiveServer) -> None:
    answer = server.http.post("/api/v1/runs", json=spec_json(tags={"task": "spelling"}))
    run = answer.json()
    assert answer.headers["location"] == f"/api/v1/runs/{run['id']}"
    assert is_run_id(run["id"])
    assert (run["state"], run["attempt"], run["num_steps"], run["last"]) == ("queued", 0, 0, None)
    assert (run["batch_policy"], run["parallelism"], run["tags"]) == ("all", "dp 2", {"task": "spelling"})
    assert server.get(f"/runs/{run['id']}") | {"ingest_token": None} == run


def test_a_name_means_the_newest_run_of_that_name(server: LiveServer) -> None:
    server.submit(name="twice")
    newest = server.submit(name="twice")
    assert server.get("/runs/twice")["id"] == newest


def test_the_list_comes_newest_first_in_pages_that_miss_and_repeat_nothing(server: LiveServer) -> None:
    ids = [server.submit(name=f"n{i}") for i in range(5)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = server.get("/runs", limit=2, **cursor)
        seen += [run["id"] for run in page["items"]]
        if len(seen) == 2:
            server.submit(name="made while paging")
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == ids[::-1]


def test_a_cursor_belongs_to_its_filter(server: LiveServer) -> None:
    for _ in range(3):
        server.submit()
    cursor = server.get("/runs", limit=1)["next_cursor"]
    answer = server.http.get("/api/v1/runs", params={"cursor": cursor, "text": "other"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == "cursor"


def test_filters_narrow_the_list_and_states_are_counted_without_the_state_filter(server: LiveServer) -> None:
    spelled = server.submit(name="Spell backward", tags={"task": "spelling", "seed": "1"})
    summed = server.submit(name="100%_sum", tags={"task": "sums"})
    launched = server.launch(name="third").id

    def found(**params: Any) -> list[str]:
        return [run["id"] for run in server.get("/runs", **params)["items"]]

    assert found(text="sPeLL") == [spelled]
    assert found(text="%_s") == [summed]
    assert found(text=launched) == [launched]
    assert found(name="third") == [launched]
    assert found(tag="task") == [summed, spelled]
    assert found(tag=["task=spelling", "seed=1"]) == [spelled]
    assert found(tag=["task=spelling", "seed=2"]) == []
    assert found(state=["starting", "running"]) == [launched]
    page = server.get("/runs", state="starting")
    assert page["total"] == 1
    assert (page["by_state"]["queued"], page["by_state"]["starting"], page["by_state"]["failed"]) == (2, 1, 0)
    equation = server.submit(name="equation", tags={"a=b": "c=d", "empty": ""})
    for text in ("a=b", "a=b=c=d", "empty", "empty="):
        assert found(tag=text) == [equation]
    assert found(tag="a") == found(tag="a=b=c") == found(tag="task=") == []


def test_a_queued_run_is_cancelled_at_once(server: LiveServer) -> None:
    run_id = server.submit()
    run = server.http.post(f"/api/v1/runs/{run_id}/cancel").json()
    assert (run["state"], run["ended_at"] is not None) == ("cancelled", True)
    again = server.http.post(f"/api/v1/runs/{run_id}/cancel")
    assert (again.status_code, again.json()["type"]) == (409, "/problems/run-ended")


def test_a_run_with_a_job_is_stopping_until_its_process_is_gone(server: LiveServer) -> None:
    run = server.launch(name="by name")
    answer = server.http.post("/api/v1/runs/by name/cancel", json={"mode": "graceful"})
    assert answer.json()["state"] == "stopping"
    record = server.services.runs.run(run.id)
    assert record.stop_mode == "graceful"
    harder = server.http.post(f"/api/v1/runs/{run.id}/cancel", json={"mode": "kill"})
    assert harder.json()["state"] == "stopping"
    harder_record = server.services.runs.run(run.id)
    assert (harder_record.stop_mode, harder_record.stop_requested_at) == ("kill", record.stop_requested_at)


def test_cancel_against_finish_ends_in_one_state_with_one_event(server: LiveServer) -> None:
    store = server.services.runs
    for _ in range(10):
        run = server.launch()
        store.apply(run.id, RunTrigger.REPORT)
        with ThreadPoolExecutor(2) as pool:
            cancelling = pool.submit(server.http.post, f"/api/v1/runs/{run.id}/cancel")
            finishing = pool.submit(store.apply, run.id, RunTrigger.SUCCEED)
        assert cancelling.result().status_code in (200, 409)
        assert finishing.result() is RunState.SUCCEEDED
        kinds = [event["kind"] for event in server.get(f"/runs/{run.id}/events")["items"]]
        assert kinds.count("run.succeeded") == 1
        assert "run.cancelled" not in kinds
        assert server.get(f"/runs/{run.id}")["state"] == "succeeded"


def test_a_trigger_that_means_nothing_changes_nothing(server: LiveServer) -> None:
    run_id, store = server.submit(), server.services.runs
    before = server.get(f"/runs/{run_id}")
    assert store.apply(run_id, RunTrigger.SUCCEED) is None
    assert server.get(f"/runs/{run_id}") == before


def test_a_trigger_of_an_older_attempt_changes_nothing(server: LiveServer) -> None:
    run = server.launch()
    server.next_attempt(run)
    assert server.services.runs.apply(run.id, RunTrigger.FAIL, reason="late", attempt=1) is None
    assert server.services.runs.apply(run.id, RunTrigger.FAIL, reason="now", attempt=2) is RunState.FAILED
    assert server.get(f"/runs/{run.id}")["reason"] == "now"


def test_the_supervisor_finds_its_runs_and_keeps_their_jobs(server: LiveServer) -> None:
    store = server.services.runs
    queued, run = server.submit(name="queued"), server.launch()
    assert [record.id for record in store.runs_in([RunState.QUEUED])] == [queued]
    assert [record.id for record in store.runs_in([RunState.QUEUED, RunState.STARTING])] == [queued, run.id]
    assert store.launch(run.id) is None
    store.set_job(run.id, 1, "job-1")
    assert store.attempt(run.id, 1).job_id == "job-1"
    assert store.spec(run.id).name == "demo"
    store.set_reason(queued, "waits for a free rank")
    assert server.get(f"/runs/{queued}")["reason"] == "waits for a free rank"
    with pytest.raises(NotFoundError):
        store.attempt(run.id, 2)
    with pytest.raises(NotFoundError):
        store.run("run_01M8NAYV0TEZ2FWP342TGA8377")


def test_steps_come_in_pages(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(i, lengths=(3, 4)) for i in range(0, 14, 2)))
    page = server.get(f"/runs/{run.id}/steps", **{"from": 3, "limit": 3})
    assert ([step["step"] for step in page["items"]], page["next_from"], page["total"]) == ([4, 6, 8], 10, 7)
    last = server.get(f"/runs/{run.id}/steps", **{"from": page["next_from"], "limit": 3})
    assert ([step["step"] for step in last["items"]], last["next_from"]) == ([10, 12], None)


def test_the_sparkline_of_a_long_run_has_at_most_64_values(server: LiveServer) -> None:
    run = server.launch()
    for first in range(0, 200, 50):
        server.record(run, *(step_message(i, lengths=(3,) * (1 + i // 50)) for i in range(first, first + 50)))
    sizes = server.get(f"/runs/{run.id}")["batch_sizes"]
    assert 32 <= len(sizes) <= 64
    assert sizes == sorted(sizes)
    assert set(sizes) == {1, 2, 3, 4}
