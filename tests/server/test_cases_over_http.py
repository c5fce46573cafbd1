"""Agreed cases, and what is like them, as a client sees them: on each database, on one server for all."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.server.cases import case
from tests.server.factories import START, metric, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.test_live import Event, listening
from trainer.contracts.metric import Reduction

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def bucket(server: LiveServer, run: LaunchedRun, name: str, **params: Any) -> dict[str, Any]:
    """All steps of a metric in one bucket."""
    answer = server.get("/metrics/query", run=run.id, name=name, max_points=1, **params)
    series: dict[str, Any] = answer["series"][0]
    return series


def test_a_mean_over_steps_is_no_mean_of_means(server: LiveServer) -> None:
    told = case("metrics.json", "mean-of-means")
    ranks = told["given"]["ranks"]
    values = [metric(rank["clipped"] / rank["tokens"], weight=rank["tokens"]) for rank in ranks]
    run = server.launch()
    server.record(run, *(step_message(i, metrics={"clip": value}) for i, value in enumerate(values)))
    assert bucket(server, run, "clip")["value"] == [told["expect"]]


def test_extremes_leave_out_what_was_not_measured(server: LiveServer) -> None:
    told = case("metrics.json", "extrema-with-empty-rank")
    highs, lows = told["given"]["max"], told["given"]["min"]
    run = server.launch()
    for i, (high, low) in enumerate(zip(highs, lows, strict=True)):
        metrics = {"max": metric(high, reduction=Reduction.MAX), "min": metric(low, reduction=Reduction.MIN)}
        server.record(run, step_message(i, metrics=metrics))
    found = {name: bucket(server, run, name) for name in ("max", "min")}
    assert {name: series["value"] for name, series in found.items()} == {k: [v] for k, v in told["expect"].items()}
    assert [series["total"] for series in found.values()] == [2, 2]


def test_a_metric_keeps_its_declared_reduction_whatever_its_name_says(server: LiveServer) -> None:
    told = case("metrics.json", "reducer-is-declared")
    given, run = told["given"], server.launch()
    reduction = Reduction(given["reduction"])
    for i, value in enumerate(given["values"]):
        server.record(run, step_message(i, metrics={given["name"]: metric(value, reduction=reduction)}))
    assert bucket(server, run, given["name"])["value"] == [told["expect"]]


def test_an_empty_part_weighs_nothing(server: LiveServer) -> None:
    told = case("metrics.json", "empty-micro-batch")
    run = server.launch()
    for i, (total, count) in enumerate(told["given"]["sum_count"]):
        value = metric(total / count, weight=count) if count else metric(None)
        server.record(run, step_message(i, metrics={"m": value, "empty": metric(None)}))
    assert bucket(server, run, "m")["value"] == [told["expect"]]
    answer = server.get("/metrics/query", run=run.id, name="empty", max_points=1)
    assert [series["value"] for series in answer["series"]] in ([], [[]])


def test_names_come_back_as_they_were_given_in_queries_and_files(server: LiveServer) -> None:
    names = [name for name in case("server.json", "unicode-names")["given"]["names"] if name.strip()]
    run = server.launch()
    assert server.record(run, step_message(0, metrics={name: metric(1.0) for name in names})).status_code == 200
    found = server.get("/metrics/query", run=run.id, name=names)
    assert [series["name"] for series in found["series"]] == names
    exported = server.http.get(f"/api/v1/runs/{run.id}/export", params={"format": "csv"}).text
    [row] = csv.DictReader(io.StringIO(exported, newline=""))
    assert [row[name] for name in names] == ["1.0"] * len(names)


def test_a_broken_stream_goes_on_where_it_broke(server: LiveServer) -> None:
    run = server.launch()
    with listening(server, run=run.id) as events:
        server.record(run, step_message(0))
        first: Event = next(event for event in events if event.name == "steps")
    for step in range(1, 4):
        server.record(run, step_message(step))
    for resume in ({"last_event_id": first.id}, {"cursor": first.id}):
        steps: list[int] = []
        with listening(server, run=run.id, **resume) as events:
            while len(steps) < 3:
                event = next(events)
                steps += event.data["step"] if event.name == "steps" else []
        assert steps == [1, 2, 3]
    with listening(server, run=run.id, last_event_id="0badc0de-7") as events:
        assert next(events).name == "resync"


def test_hostile_texts_are_data(server: LiveServer) -> None:
    texts = case("server.json", "xss-matrix")["given"]["texts"][:3]
    for text in texts:
        made = server.http.post("/api/v1/runs", json=spec_json(name=text, tags={"t": text}))
        assert made.status_code == 201
        answer = server.http.get("/api/v1/runs", params={"name": text})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert [(run["name"], run["tags"]) for run in answer.json()["items"]] == [(text, {"t": text})]
    assert server.http.post("/api/v1/runs", json=spec_json(name="x" * 10_000)).status_code == 422


def test_what_is_no_request_is_refused_as_the_case_says(server: LiveServer) -> None:
    expected = [int(status) for status in case("server.json", "malformed")["expect"].split(",")[0].split("/")]
    run, headers = server.launch(), {"Content-Type": "application/json"}
    body = json.dumps({"attempt": 1, "steps": [step_message(0).model_dump(mode="json")]}).encode()
    bomb = gzip.compress(b" " * 100_000_000, compresslevel=9)
    sent: list[tuple[bytes, dict[str, str]]] = [
        (body[:-5], headers),
        (body, {"Content-Type": "text/plain"}),
        (b" " * 100_000_000, headers),
        (bomb, headers | {"Content-Encoding": "gzip"}),
        (body[:-1] + b', "unknown": 1}', headers),
    ]
    path = f"/api/v1/runs/{run.id}/steps:batch"
    answers = [server.http.post(path, content=content, headers=given | run.headers) for content, given in sent]
    assert [answer.status_code for answer in answers] == expected
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


@pytest.mark.parametrize("skew", [timedelta(hours=-30), timedelta(days=400)])
def test_a_wrong_clock_of_a_driver_moves_no_state_and_no_step(server: LiveServer, skew: timedelta) -> None:
    run = server.launch()
    right, wrong = step_message(0), step_message(1)
    wrong = step_message(1, started_at=wrong.started_at + skew, ended_at=wrong.ended_at + skew)
    assert server.record(run, right, wrong, step_message(2)).status_code == 200
    beat = {"attempt": 1, "at": (START + skew).isoformat(), "activity": "a", "num_steps": 3, "total_steps": None}
    server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=beat, headers=run.headers).raise_for_status()
    told = server.get(f"/runs/{run.id}")
    assert (told["state"], told["num_steps"]) == ("running", 3)
    assert abs(time.time() - _seconds(told["last_heartbeat_at"])) < 60
    for axis in ("step", "samples", "time", "relative"):
        series = server.get("/metrics/query", run=run.id, name="train/loss", x=axis)["series"][0]
        assert series["step"] == [0, 1, 2]


def test_a_name_may_be_used_again_and_again(server: LiveServer) -> None:
    older, newer = (server.launch(name="again") for _ in range(2))
    server.record(older, step_message(0, metrics={"m": metric(1.0)}))
    server.record(newer, step_message(0, metrics={"m": metric(2.0)}))
    assert server.get("/metrics/query", run="again", name="m")["series"][0]["value"] == [2.0]
    report = {"attempt": 1, "outcome": "failed", "at": START.isoformat()}
    server.http.post(f"/api/v1/runs/{newer.id}/state", json=report, headers=newer.headers).raise_for_status()
    assert server.http.delete(f"/api/v1/runs/{newer.id}").status_code == 202
    assert server.get("/runs/again")["id"] == older.id
    assert server.get("/metrics/query", run="again", name="m")["series"][0]["value"] == [1.0]
    third = server.submit(name="again")
    assert server.get("/runs/again")["id"] == third


def test_a_run_is_deleted_only_when_it_has_ended_and_takes_nothing_afterwards(server: LiveServer) -> None:
    run = server.launch(name="to be deleted")
    server.record(run, step_message(0))
    refused = server.http.delete(f"/api/v1/runs/{run.id}")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/run-active")
    assert server.record(run, step_message(1)).status_code == 200
    report = {"attempt": 1, "outcome": "failed", "at": START.isoformat()}
    server.http.post(f"/api/v1/runs/{run.id}/state", json=report, headers=run.headers).raise_for_status()
    assert server.http.delete(f"/api/v1/runs/{run.id}").status_code == 202
    assert server.record(run, step_message(2)).status_code in (401, 404)
    query = server.get("/metrics/query", run=run.id, name="train/loss")
    assert (query["series"], len(query["errors"])) == ([], 1)
    assert run.id not in [other["id"] for other in server.get("/runs")["items"]]


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
