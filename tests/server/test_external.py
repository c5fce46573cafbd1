from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contracts.run_state import RunState
from server.runs.secrets import REDACTED
from tests.server.factories import START, batch_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server

pytestmark = pytest.mark.stack

CONFIG = {"optimizer": {"lr": 1e-4}, "layers": [1, 2, None], "api_key": "hush-hush"}


def external(server: LiveServer, **changes: Any) -> LaunchedRun:
    body = {"kind": "external", "name": "theirs", "config": CONFIG, "tags": {"by": "trl"}} | changes
    answer = server.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert answer.headers["location"] == f"/api/v1/runs/{told['id']}"
    return LaunchedRun(id=told["id"], attempt=told["attempt"], token=told["ingest_token"])


def bare_step(step: int, **changes: Any) -> dict[str, Any]:
    """As little as a writer must know of a step."""
    return {
        "step": step,
        "started_at": START.isoformat(),
        "ended_at": START.isoformat(),
        "global_batch_size": 4 + step,
        "metrics": {"train/loss": {"value": 1.0, "weight": 1.0, "reduction": "mean"}},
    } | changes


def post(server: LiveServer, run: LaunchedRun, *steps: dict[str, Any]) -> Any:
    body = {"attempt": run.attempt, "steps": list(steps)}
    return server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)


def report(server: LiveServer, run: LaunchedRun, outcome: str, **changes: Any) -> None:
    body = {"attempt": run.attempt, "outcome": outcome, "at": START.isoformat()} | changes
    answer = server.http.post(f"/api/v1/runs/{run.id}/state", json=body, headers=run.headers)
    assert answer.status_code == 200, answer.text


def state(server: LiveServer, run: LaunchedRun) -> str:
    return str(server.get(f"/runs/{run.id}")["state"])


def test_another_framework_records_as_little_as_it_knows(server: LiveServer) -> None:
    run = external(server)
    told = server.get(f"/runs/{run.id}")
    assert (told["kind"], told["state"], told["spec"], told["parallelism"]) == ("external", "starting", None, None)
    assert told["config"] == CONFIG | {"api_key": REDACTED}
    assert (told["tags"], "ingest_token" in told) == ({"by": "trl"}, False)
    assert post(server, run, bare_step(0), bare_step(1)).json() == {
        "accepted": 2,
        "duplicates": 0,
        "desired_state": "run",
    }
    assert post(server, run, bare_step(0)).json()["duplicates"] == 1
    (first, second) = server.get(f"/runs/{run.id}/steps")["items"]
    assert (first["num_prompts"], first["lr"], first["phase"], first["tokens_total"]) == (None, None, None, None)
    assert (second["samples_total"], second["metrics"]["train/loss"]["value"]) == (9, 1.0)
    listed = server.get("/runs")["items"][0]
    assert (listed["state"], listed["batch_sizes"], listed["last"]["num_tokens"]) == ("running", [4, 5], None)
    assert server.http.get(f"/api/v1/runs/{run.id}/steps/0/schedule").json()["detail"] == (
        "Step 0 was recorded without a schedule."
    )
    report(server, run, "succeeded")
    assert state(server, run) == "succeeded"


def test_series_that_its_writer_does_not_know_are_not_there(server: LiveServer) -> None:
    run = external(server)
    post(server, run, *(bare_step(i, num_tokens=100 if i == 1 else None) for i in range(3)))
    catalogue = {metric["name"]: metric for metric in server.get(f"/runs/{run.id}/metrics")["items"]}
    assert set(catalogue) == {"global_batch_size", "num_tokens", "train/loss"}
    assert (catalogue["num_tokens"]["num_points"], catalogue["num_tokens"]["last"]) == (1, 100)
    for x, place in (("step", [1.0]), ("samples", [9.0])):
        history = server.get("/metrics/query", run=run.id, name=["num_tokens", "num_dummies"], x=x)
        assert [(one["x"], one["value"]) for one in history["series"]] == [(place, [100.0])]
    history = server.get("/metrics/query", run=run.id, name="train/loss", x="tokens")
    assert (history["series"], history["errors"][0]["name"]) == ([], "train/loss")
    for format_ in ("csv", "jsonl", "parquet"):
        answer = server.http.get(f"/api/v1/runs/{run.id}/export", params={"format": format_})
        assert answer.status_code == 200
    assert "hush-hush" not in server.http.get(f"/api/v1/runs/{run.id}").text


def test_what_is_given_is_verified_as_strictly_as_ever(server: LiveServer) -> None:
    run = external(server)
    whole = step_message(0).model_dump(mode="json")
    known = bare_step(0, global_batch_size=4, schedule=whole["schedule"])
    for changes, pointer in (
        ({"global_batch_size": 5}, "/steps/0/global_batch_size"),
        ({"num_tokens": 1}, "/steps/0/num_tokens"),
        ({"schedule": whole["schedule"] | {"certificate_sha256": "0" * 64}}, "/steps/0/schedule/certificate_sha256"),
        ({"schedule": None, "num_rollouts": 9}, "/steps/0/num_rollouts"),
        ({"ended_at": "2025-01-01T00:00:00Z"}, "/steps/0/ended_at"),
    ):
        answer = post(server, run, known | changes)
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert post(server, run, known).status_code == 200
    row = server.get(f"/runs/{run.id}/steps/0")
    assert (row["num_tokens"], row["num_microbatches"]) == (whole["num_tokens"], whole["num_microbatches"])
    assert server.get(f"/runs/{run.id}/steps/0/schedule")["certificate"]["holds"] is True
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps/0/whatif", json={"dp": 1})
    assert answer.status_code == 200, answer.text


def test_a_managed_run_tells_everything(server: LiveServer) -> None:
    run = server.launch()
    body = batch_json(step_message(0))
    body["steps"][0]["num_prompts"] = None
    body["steps"][0]["schedule"] = None
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/steps/0/num_prompts", "/steps/0/schedule"]


def test_the_next_attempt_fences_off_the_one_before(server: LiveServer) -> None:
    run = external(server)
    post(server, run, bare_step(0), bare_step(1))
    told = server.http.post(f"/api/v1/runs/{run.id}/attempts").json()
    again = LaunchedRun(id=told["run_id"], attempt=told["attempt"], token=told["ingest_token"])
    assert (again.attempt, state(server, run)) == (2, "starting")
    assert post(server, run, bare_step(2)).json()["type"] == "/problems/stale-attempt"
    post(server, again, bare_step(1), bare_step(2))
    assert [step["attempt"] for step in server.get(f"/runs/{run.id}/steps")["items"]] == [1, 2, 2]
    report(server, again, "failed", reason="CUDA", can_restart=True)
    assert state(server, run) == "failed"
    third = server.http.post(f"/api/v1/runs/{run.id}/attempts").json()
    assert third["attempt"] == 3
    managed = server.submit()
    assert server.http.post(f"/api/v1/runs/{managed}/attempts").json()["type"] == "/problems/managed-run"


def test_what_cannot_be_done_for_an_external_run_is_said(server: LiveServer) -> None:
    run = external(server)
    post(server, run, bare_step(0))
    report(server, run, "failed")
    for what in ("clone", "retry"):
        answer = server.http.post(f"/api/v1/runs/{run.id}/{what}")
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/external-run")
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps/0/whatif", json={"dp": 2})
    assert answer.json()["detail"] == "Step 0 was recorded without a schedule."


def test_equal_requests_make_one_run_and_only_the_first_is_told_the_token(server: LiveServer) -> None:
    body = {"kind": "external", "name": "theirs"}
    first, second = (
        server.http.post("/api/v1/runs", json=body, headers={"Idempotency-Key": "k"}).json() for _ in range(2)
    )
    assert (first["id"], second["ingest_token"]) == (second["id"], None)
    assert first["ingest_token"].startswith("swi_")
    for wrong, pointer in (
        ({"kind": "external"}, "/name"),
        ({"kind": "external", "name": "x", "spec": 1}, "/spec"),
        ({"kind": "other", "name": "x"}, "/kind"),
    ):
        answer = server.http.post("/api/v1/runs", json=wrong)
        assert pointer in [error["pointer"] for error in answer.json()["errors"]], answer.text


def test_it_is_lost_by_silence_and_comes_back_and_a_wish_to_stop_ends_it(
    tmp_path: Path, database_url: str | None
) -> None:
    deadlines: dict[str, Any] = {"external_silence_s": 1.0, "external_stop_deadline_s": 0.5}
    with running_server(tmp_path / "home", database_url=database_url, **deadlines) as server:
        run, stopped_there, stopped_here = external(server), external(server), external(server)
        for each in (run, stopped_there, stopped_here):
            post(server, each, bare_step(0))
        report(server, stopped_there, "stopped")
        assert state(server, stopped_there) == "cancelled"
        server.http.post(f"/api/v1/runs/{stopped_here.id}/cancel")
        assert post(server, stopped_here, bare_step(1)).json()["desired_state"] == "stop"
        report(server, stopped_here, "stopped")
        assert state(server, stopped_here) == "cancelled"
        wait_for(server, run, RunState.LOST)
        assert server.get(f"/runs/{run.id}")["reason"].startswith("Its writer was not heard for ")
        assert post(server, run, bare_step(1)).json()["desired_state"] == "run"
        assert state(server, run) == "running"
        server.http.post(f"/api/v1/runs/{run.id}/cancel")
        wait_for(server, run, RunState.CANCELLED)
        kinds = [event["kind"] for event in server.get(f"/runs/{run.id}/events")["items"]]
        assert kinds == [
            *("run.queued", "run.starting", "run.running", "run.lost", "run.running", "run.stopping"),
            "run.cancelled",
        ]


def wait_for(server: LiveServer, run: LaunchedRun, wanted: RunState) -> None:
    deadline = time.monotonic() + 15
    while state(server, run) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    assert state(server, run) == wanted


def test_a_spec_that_holds_a_secret_is_refused(sqlite_server: LiveServer) -> None:
    from tests.server.factories import spec_json

    spec = spec_json(tags={"password": "hunter2"}, name="mail://me:hunter2@host")
    answer = sqlite_server.http.post("/api/v1/runs", json=spec)
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/name", "/tags/password"]
    answer = sqlite_server.http.post("/api/v1/runs", json={"kind": "external", "name": "n", "tags": {"token": "x"}})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/tags/token"]
    parent = sqlite_server.submit()
    answer = sqlite_server.http.patch(f"/api/v1/runs/{parent}", json={"tags": {"password": "x"}})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/tags/password"]
    answer = sqlite_server.http.post(f"/api/v1/runs/{parent}/clone", json={"changes": {"tags": {"api_key": "x"}}})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/changes/tags/api_key"]
