"""What the server does not take of a driver, and how it says where the trouble is."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from orchestrator.contracts.messages import EventMessage, EventsBatch, StateReport
from tests.server.cases import case
from tests.server.factories import START, batch_json, beat_json, event_message, metric, step_message
from tests.server.live_server import LiveServer
from trainer.contracts.metric import Reduction

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_steps_are_integers_that_a_browser_can_hold(server: LiveServer) -> None:
    given = case("server.json", "step-types")["given"]
    run = server.launch()
    for step in given["ok"]:
        assert server.record(run, step_message(step)).status_code == 200
    for bad in given["bad"]:
        body = batch_json(step_message(5))
        body["steps"][0]["step"] = bad
        answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
        assert answer.status_code == 422, bad
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/steps/0/step"]


def test_a_step_that_contradicts_itself_is_refused_with_the_reason(server: LiveServer) -> None:
    given = case("server.json", "batch-size-identity")["given"]
    run = server.launch()
    lengths = (3,) * given["schedule_sums_to"]
    answer = server.record(run, step_message(0, lengths=lengths, global_batch_size=given["global_batch_size"]))
    assert answer.status_code == 422
    assert "/steps/0/global_batch_size" in [error["pointer"] for error in answer.json()["errors"]]
    assert "95" in answer.json()["detail"]


def test_a_sample_on_two_ranks_is_refused(server: LiveServer) -> None:
    run = server.launch()
    body = batch_json(step_message(0))
    schedule = body["steps"][0]["schedule"]
    schedule["micro_batches"] = [[[0, 1, 2]], [[2, 3]]]
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
    assert answer.status_code == 422
    assert "twice [2]" in answer.text
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


def test_a_batch_with_one_bad_step_stores_nothing(server: LiveServer) -> None:
    run = server.launch()
    answer = server.record(run, step_message(0), step_message(1, num_tokens=1))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/steps/1/num_tokens"
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


def test_bare_nan_is_refused_with_its_position(server: LiveServer) -> None:
    run = server.launch()
    body = json.dumps(batch_json(step_message(0))).replace('"num_dropped": 0', '"num_dropped": NaN')
    for text in (body, case("server.json", "bare-nan-body")["given"]["body"]):
        answer = server.http.post(
            f"/api/v1/runs/{run.id}/steps:batch",
            content=text,
            headers={**run.headers, "Content-Type": "application/json"},
        )
        assert answer.status_code == 400
        assert f"offset {text.index('NaN')}" in answer.json()["detail"]
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


@pytest.mark.parametrize("name", ["", "   "])
def test_blank_metric_names_are_refused(sqlite_server: LiveServer, name: str) -> None:
    run = sqlite_server.launch()
    body = batch_json(step_message(0))
    body["steps"][0]["metrics"] = {name: {"value": 1.0, "weight": 1.0, "reduction": "mean"}}
    answer = sqlite_server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/steps/0/metrics/")


def test_two_spellings_of_one_name_in_one_step_are_refused(sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch()
    answer = sqlite_server.record(run, step_message(0, metrics={"é": metric(1.0), "e\u0301": metric(2.0)}))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/steps/0/metrics/e\u0301"]


def test_a_metric_keeps_the_reduction_that_it_began_with(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0, metrics={"m": metric(1.0)}))
    answer = server.record(run, step_message(1, metrics={"m": metric(1.0, reduction=Reduction.MAX)}))
    assert answer.status_code == 422
    assert server.get(f"/runs/{run.id}/steps")["total"] == 1


@pytest.mark.parametrize("spelled", ["train/loss", "loss~e\u0301"])
def test_another_reduction_is_pointed_to_in_the_batch_as_it_was_sent(server: LiveServer, spelled: str) -> None:
    run = server.launch()
    # Sent from the last step to the first, so that the place in the batch is not the number of the step.
    batch = [step_message(step, metrics={spelled: metric(1.0)}) for step in range(20, 0, -1)]
    odd = {spelled: metric(1.0, reduction=Reduction.MAX), "other": metric(1.0)}
    batch[17] = step_message(batch[17].step, metrics=odd)
    server.record(run, step_message(0, metrics={unicodedata.normalize("NFC", spelled): metric(1.0)}))
    told = server.record(run, *batch).json()["errors"]
    key = spelled.replace("~", "~0").replace("/", "~1")
    assert [error["pointer"] for error in told] == [f"/steps/17/metrics/{key}/reduction"]


def test_a_conflict_is_pointed_to_in_the_batch(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(3))
    answer = server.record(run, step_message(5), step_message(4), step_message(3, metrics={"m": metric(1.0)}))
    told = answer.json()
    assert (answer.status_code, told["type"]) == (409, "/problems/conflicting-step")
    assert [error["pointer"] for error in told["errors"]] == ["/steps/2"]
    server.next_attempt(run)
    told = server.record(run, step_message(6)).json()
    assert (told["type"], told["errors"][0]["pointer"]) == ("/problems/stale-attempt", "/attempt")


def test_conflicting_events_and_outcomes_are_pointed_to(server: LiveServer) -> None:
    run = server.launch()
    known, new = (EventMessage(key=key, kind="k", at=START, message="m") for key in ("known", "new"))
    other = known.model_copy(update={"message": "other"})
    ended = StateReport(attempt=1, outcome="succeeded", at=START)
    for path, report, pointer in (
        ("events:batch", EventsBatch(attempt=1, events=(known,)), None),
        ("events:batch", EventsBatch(attempt=1, events=(new, other)), "/events/1"),
        ("state", ended, None),
        ("state", ended.model_copy(update={"outcome": "failed"}), "/outcome"),
    ):
        body = report.model_dump(mode="json")
        answer = server.http.post(f"/api/v1/runs/{run.id}/{path}", json=body, headers=run.headers)
        assert answer.status_code == (200 if pointer is None else 409)
        assert [error["pointer"] for error in answer.json().get("errors", ())] == ([] if pointer is None else [pointer])


def test_a_nul_character_is_refused_before_any_database_sees_it(server: LiveServer) -> None:
    run = server.launch()
    batch = EventsBatch(attempt=1, events=(event_message("a", message="a\0b"),)).model_dump(mode="json")
    answer = server.http.post(f"/api/v1/runs/{run.id}/events:batch", json=batch, headers=run.headers)
    assert answer.status_code == 400
    assert server.http.get("/api/v1/runs", params={"text": "a\0b"}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("heartbeat", {"total_steps": 10**18}, "/total_steps"),
        ("events:batch", {"at": "0001-01-01T00:00:00+14:00"}, "/events/0/at"),
        ("steps:batch", {"ended_at": "9999-12-31T23:59:59-12:00"}, "/steps/0/ended_at"),
        ("steps:batch", {"iteration": 10**30}, "/steps/0/iteration"),
        ("steps:batch", {"started_at": "2026-01-01T00:00:00"}, "/steps/0/started_at"),
    ],
)
def test_what_no_database_can_hold_is_refused(
    server: LiveServer, path: str, body: dict[str, Any], pointer: str
) -> None:
    run = server.launch()
    whole: dict[str, Any] = {
        "heartbeat": beat_json(1) | body,
        "events:batch": {"attempt": 1, "events": [event_message("a").model_dump(mode="json") | body]},
        "steps:batch": {"attempt": 1, "steps": [step_message(0).model_dump(mode="json") | body]},
    }[path]
    answer = server.http.post(f"/api/v1/runs/{run.id}/{path}", json=whole, headers=run.headers)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
