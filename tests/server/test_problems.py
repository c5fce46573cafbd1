from __future__ import annotations

import gzip
import json
import socket
from typing import Any

import httpx
import pytest

from server.http.pointers import body_path, field_problems, pointer
from tests.server.cases import case
from tests.server.factories import START, spec_json
from tests.server.live_server import LiveServer
from trainer.contracts.text_model import FieldError

JSON = {"Content-Type": "application/json"}


def problem_of(answer: httpx.Response) -> dict[str, Any]:
    """The problem of an answer, which must be one."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"].startswith("/problems/")
    assert problem["detail"]
    return problem


def test_a_pointer_escapes_what_has_a_meaning_in_it() -> None:
    assert pointer(["a/b", "m~n", 0]) == "/a~1b/m~0n/0"


def test_the_path_leaves_out_the_names_of_union_members() -> None:
    body = {"metrics": {"m": {"value": "x"}}}
    assert body_path(["metrics", "m", "value", "float"], body, missing=False) == ["metrics", "m", "value"]
    assert body_path(["batch", "fixed", "global_batch_size"], {"batch": {}}, missing=True) == [
        "batch",
        "global_batch_size",
    ]


def test_a_field_error_points_to_each_of_its_fields() -> None:
    cause = FieldError("a and b.c disagree", "a", "b.c")
    error = {"loc": ("body", "x"), "type": "value_error", "msg": "Value error", "ctx": {"error": cause}}
    found = field_problems([error], {"x": {}})
    assert found == [
        {"pointer": "/x/a", "detail": "a and b.c disagree"},
        {"pointer": "/x/b/c", "detail": "a and b.c disagree"},
    ]


@pytest.mark.stack
@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"batch": {"type": "fixed", "global_batch_size": 0}}, ["/batch/global_batch_size"]),
        ({"batch": {"type": "fixed"}}, ["/batch/global_batch_size"]),
        ({"batch": {"type": "nonsense"}}, ["/batch"]),
        ({"nonsense": 1}, ["/nonsense"]),
        ({"iterations": "many"}, ["/iterations"]),
        ({"iterations": True}, ["/iterations"]),
        ({"seed": 2**53}, ["/seed"]),
        ({"iterations": 10**30}, ["/iterations"]),
        (
            {"data": {"type": "reasoning_gym", "tasks": [{"name": "spell_backward"}], "rollout_batch_size": 10**9}},
            ["/data/rollout_batch_size", "/rollout/group_size"],
        ),
        ({"parallelism": {"dp": 3, "num_ranks": 4}}, ["/parallelism/dp", "/parallelism/num_ranks"]),
        (
            {"batch": {"type": "fixed", "global_batch_size": 99, "remainder": "drop"}},
            ["/batch/global_batch_size", "/data/rollout_batch_size", "/rollout/group_size"],
        ),
        (
            {"data": {"type": "reasoning_gym", "tasks": [{"name": "no_such_task"}], "rollout_batch_size": 4}},
            ["/data/tasks/0/name"],
        ),
        ({"model": {"type": "huggingface", "path": "/nowhere"}}, ["/model/path"]),
        ({"name": "  "}, ["/name"]),
    ],
)
def test_a_bad_spec_is_refused_with_the_fields_to_change(
    sqlite_server: LiveServer, change: dict[str, Any], pointers: list[str]
) -> None:
    problem = problem_of(sqlite_server.http.post("/api/v1/runs", json=spec_json(**change)))
    assert problem["status"] == 422
    assert [error["pointer"] for error in problem["errors"]] == pointers
    assert all(error["detail"] for error in problem["errors"])
    assert sqlite_server.get("/runs")["total"] == 0


@pytest.mark.stack
def test_malformed_bodies_are_problems(sqlite_server: LiveServer) -> None:
    expected = case("server.json", "malformed")["expect"].split(",")[0].split("/")
    spec = json.dumps(spec_json()).encode()
    bomb = gzip.compress(b" " * 200_000_000, compresslevel=9)
    attempts: list[tuple[bytes, dict[str, str]]] = [
        (spec[:-5], JSON),
        (spec, {"Content-Type": "text/plain"}),
        (b" " * 100_000_000, JSON),
        (bomb, JSON | {"Content-Encoding": "gzip"}),
        (json.dumps(spec_json(unknown=1)).encode(), JSON),
    ]
    answers = [sqlite_server.http.post("/api/v1/runs", content=body, headers=headers) for body, headers in attempts]
    assert [str(problem_of(answer)["status"]) for answer in answers] == expected
    assert sqlite_server.http.get("/healthz").status_code == 200


@pytest.mark.stack
def test_json_that_is_too_deep_to_be_written_again_is_refused(sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch()
    event = {"key": "k", "kind": "k", "at": START.isoformat(), "message": "m", "data": "?"}
    fields: list[tuple[str, Any, str]] = [
        ("runs", {"kind": "external", "name": "deep", "config": "?"}, "/config"),
        ("runs", spec_json(algorithm={"advantage": {"python": "m:f", "arguments": "?"}}), "/algorithm/advantage"),
        (f"runs/{run.id}/clone", {"changes": "?"}, "/changes"),
        (f"runs/{run.id}/events:batch", {"attempt": 1, "events": [event]}, "/events/0/data"),
    ]
    for path, body, pointer_begin in fields:
        for depth in (150, 300, 900, 5000):
            deep = json.dumps(body).replace('"?"', '{"a":' * depth + "1" + "}" * depth)
            headers = JSON | (run.headers if path.endswith(":batch") else {})
            answer = sqlite_server.http.post(f"/api/v1/{path}", content=deep, headers=headers)
            problem = problem_of(answer)
            assert problem["status"] == (422 if depth < 1000 else 400), (path, depth)
            assert depth > 1000 or problem["errors"][0]["pointer"].startswith(pointer_begin)
    assert sqlite_server.get("/runs")["total"] == 1


@pytest.mark.stack
def test_a_body_without_a_length_is_bounded_too(sqlite_server: LiveServer) -> None:
    def endless() -> Any:
        for _ in range(100):
            yield b" " * 1_000_000

    answer = sqlite_server.http.post("/api/v1/runs", content=endless(), headers=JSON)
    assert problem_of(answer)["status"] == 413


@pytest.mark.stack
def test_a_compressed_body_is_read(sqlite_server: LiveServer) -> None:
    body = gzip.compress(json.dumps(spec_json()).encode())
    headers = JSON | {"Content-Encoding": "gzip"}
    assert sqlite_server.http.post("/api/v1/runs", content=body, headers=headers).status_code == 201
    upper = JSON | {"Content-Encoding": "GZIP"}
    assert sqlite_server.http.post("/api/v1/runs", content=body, headers=upper).status_code == 201
    for rest in (b"more", body):
        followed = sqlite_server.http.post("/api/v1/runs", content=body + rest, headers=headers)
        assert problem_of(followed)["type"] == "/problems/malformed-gzip"
    broken = sqlite_server.http.post("/api/v1/runs", content=body[:-9], headers=headers)
    assert problem_of(broken)["status"] == 400
    odd = sqlite_server.http.post("/api/v1/runs", content=body, headers=JSON | {"Content-Encoding": "br"})
    assert problem_of(odd)["status"] == 415


@pytest.mark.stack
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nowhere", 404),
        ("GET", "/api", 404),
        ("GET", "/api/v1/runs/", 404),
        ("GET", "/api/v1/runs/no-such-run", 404),
        ("GET", "/api/v1/runs/run_01M8NAYV0TEZ2FWP342TGA8377", 404),
        ("GET", "/api/v1/runs/no-such-run/steps/0", 404),
        ("DELETE", "/api/v1/runs", 405),
        ("POST", "/healthz", 405),
        ("GET", "/api/v1/runs/x/steps/-1", 422),
        ("GET", "/api/v1/runs/x/steps/9007199254740992", 422),
        ("GET", "/api/v1/runs/x/steps/1_0", 422),
        ("GET", "/api/v1/runs/x/steps/%201", 422),
        ("GET", "/api/v1/runs/x/steps/%EF%BC%91", 422),
        ("GET", "/api/v1/runs/x/events?after=1_0", 422),
        ("GET", "/api/v1/metrics/query?run=x&name=y&max_points=+5", 422),
        ("GET", "/api/v1/runs?limit=0", 422),
        ("GET", "/api/v1/runs?cursor=nonsense", 422),
        ("GET", "/api/v1/runs?text=a%00b", 400),
        ("POST", "/api/v1/runs", 422),
    ],
)
def test_every_refusal_is_a_problem(sqlite_server: LiveServer, method: str, path: str, status: int) -> None:
    assert problem_of(sqlite_server.http.request(method, path))["status"] == status


@pytest.mark.stack
def test_a_fault_of_the_server_is_a_problem_that_tells_nothing_of_the_inside(
    sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: Any, **_options: Any) -> Any:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("server.runs.queries.page", broken)
    answer = sqlite_server.http.get("/api/v1/runs")
    assert problem_of(answer)["status"] == 500
    assert "secret" not in answer.text


def test_a_body_that_is_announced_and_never_sent_gets_its_answer(sqlite_server: LiveServer) -> None:
    port = sqlite_server.settings.port
    lines = (
        "POST /api/v1/runs HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Authorization: {sqlite_server.http.headers['Authorization']}",
        "Content-Length: 999999999999999",
    )
    head = "\r\n".join(lines) + "\r\n\r\n{}"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")
