from __future__ import annotations

import gzip
import json
import logging
import sys
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.runs.supervisor_port import NoSupervisor, RayState
from server.telemetry.figures import ServerFigures
from server.telemetry.json_log import JsonFormatter, RequestIdFilter
from server.telemetry.request_id import current_request_id, request_id
from tests.server.factories import step_message
from tests.server.live_server import LiveServer


def figures_of(server: LiveServer) -> dict[tuple[str, ...], float]:
    """Samples by name and label values."""
    text = server.http.get("/metrics").text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.stack
def test_prometheus_gets_figures_whose_labels_are_bounded(server: LiveServer) -> None:
    run = server.launch()
    server.submit()
    for _ in range(2):
        server.record(run, step_message(0), step_message(1))
    for i in range(5):
        server.http.get(f"/api/v1/runs/nobody-{i}")
        server.http.get(f"/nowhere/{i}")
        server.http.request(f"ODD{i}", "/api/v1/runs")
    found = figures_of(server)
    assert found["swell_steps_recorded_total",] == 2
    assert found["swell_steps_repeated_total",] == 2
    assert found["swell_points_recorded_total",] == 2
    assert (found["swell_runs", "queued"], found["swell_runs", "running"], found["swell_runs", "failed"]) == (1, 1, 0)
    assert found["swell_http_requests_total", "GET", "/api/v1/runs/{run_id}", "404"] == 5
    assert (
        found["swell_http_requests_total", "GET", "other", "200"]
        + found.get(("swell_http_requests_total", "GET", "other", "404"), 0)
        == 5
    )
    assert found["swell_queued_writes",] == 0
    assert not any("nobody" in label or "ODD" in label or "nowhere" in label for key in found for label in key)
    assert server.http.get("/metrics", headers={"Authorization": ""}).status_code == 401


@pytest.mark.stack
def test_open_streams_are_counted(sqlite_server: LiveServer) -> None:
    with sqlite_server.http.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        assert figures_of(sqlite_server)["swell_live_streams",] == 1


def test_two_servers_in_one_process_do_not_count_together() -> None:
    first, second = ServerFigures(), ServerFigures()
    first.recorded(num_steps=3, num_points=0, num_duplicates=0)
    assert b"swell_steps_recorded_total 3.0" in first.text()
    assert b"swell_steps_recorded_total 0.0" in second.text()


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("abc-1.2_3", True), ("x" * 64, True), ("x" * 65, False), ("a\nb", False), ("ä", False), ("", False)],
)
def test_an_id_that_a_log_line_can_hold_is_kept(given: str, is_kept: bool) -> None:
    assert (request_id(given) == given) is is_kept
    assert request_id(None) != request_id(None)


@pytest.mark.stack
def test_every_answer_tells_its_request_and_what_failed_is_logged_with_it(
    sqlite_server: LiveServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="server.telemetry.middleware")
    for path, given in (("/healthz", "mine"), ("/nowhere", "other"), ("/api/v1/runs/nobody", "third")):
        assert sqlite_server.http.get(path, headers={"X-Request-Id": given}).headers["x-request-id"] == given
    assert len(sqlite_server.http.get("/healthz").headers["x-request-id"]) == 16
    (line,) = [r.getMessage() for r in caplog.records if "/api/v1/runs/{run_id}" in r.getMessage()]
    assert line.startswith("GET /api/v1/runs/{run_id} answered 404 after ")
    assert "nobody" not in caplog.text


def formatted(message: str, *arguments: Any, exc_info: Any = None) -> dict[str, Any]:
    record = logging.LogRecord("a.b", logging.WARNING, "f.py", 1, message, arguments, exc_info)
    RequestIdFilter().filter(record)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_log_line_is_json_with_the_id_of_its_request() -> None:
    token = current_request_id.set("r1")
    try:
        line = formatted('two\nlines of "%s"', "损 \ud800")
    finally:
        current_request_id.reset(token)
    assert (line["level"], line["logger"], line["request_id"]) == ("warning", "a.b", "r1")
    assert line["message"] == 'two\nlines of "损 ?"'
    assert "request_id" not in formatted("alone")


def test_a_log_line_holds_the_traceback() -> None:
    try:
        raise ValueError("the cause")
    except ValueError:
        line = formatted("failed", exc_info=sys.exc_info())
    assert "ValueError: the cause" in line["traceback"]


@pytest.mark.stack
def test_long_answers_are_compressed_for_whoever_takes_that(sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch()
    sqlite_server.record(run, *(step_message(i) for i in range(20)))
    path = f"/api/v1/runs/{run.id}/steps"
    packed = sqlite_server.http.get(path)
    assert packed.headers["content-encoding"] == "gzip"
    plain = sqlite_server.http.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    with sqlite_server.http.stream("GET", "/api/v1/events") as stream:
        assert "content-encoding" not in stream.headers


@pytest.mark.stack
def test_the_limits_are_those_that_hold(sqlite_server: LiveServer) -> None:
    limits = sqlite_server.get("/limits")
    assert limits["max_body_bytes"] == sqlite_server.settings.max_body_bytes
    assert (limits["max_steps_per_batch"], limits["max_events_per_batch"]) == (1000, 1000)
    too_many = {"run": "r", "name": "n", "max_points": limits["max_query_points"] + 1}
    assert sqlite_server.http.get("/api/v1/metrics/query", params=too_many).status_code == 422
    deep: dict[str, Any] = {}
    for _ in range(limits["max_nesting"]):
        deep = {"deeper": deep}
    for config in (deep, {"notes": "x" * limits["max_config_bytes"]}):
        refused = sqlite_server.http.post("/api/v1/runs", json={"kind": "external", "name": "big", "config": config})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/config")
    packed = gzip.compress(b" " * (limits["max_body_bytes"] + 1))
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    assert sqlite_server.http.post("/api/v1/runs", content=packed, headers=headers).status_code == 413


@pytest.mark.stack
def test_readiness_tells_the_database_and_ray_apart(sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = {"database": "answers", "ray": "not_used"}
    assert sqlite_server.http.get("/readyz", headers={"Authorization": ""}).json() == ready
    monkeypatch.setattr(NoSupervisor, "ray_state", lambda _: RayState.SILENT)
    answer = sqlite_server.http.get("/readyz")
    assert (answer.status_code, answer.json()["ray"]) == (200, "silent")
