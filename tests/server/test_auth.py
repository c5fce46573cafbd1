from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import update

from server.app import create_app
from server.auth.access import Access, Principal, rule_of
from server.database.tables import login_codes
from server.database.writer import Transaction
from server.http.guarded_route import GuardedRoute
from server.settings import Settings
from tests.server.cases import case
from tests.server.factories import START, batch_json, step_message
from tests.server.live_server import LiveServer
from tests.server.record_factories import checkpoint_message, iteration_message, log_line

PUBLIC = {
    ("GET", "/login"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
}
"""All that may be asked without a token. Adding to it is a decision, not an accident."""


def guarded_routes() -> list[tuple[str, str, Access]]:
    """Every route of the app: (method, path, rule)."""
    app = create_app(Settings(home=Path("unused")))
    return [
        (method, route.path, rule_of(route.endpoint))
        for route in _api_routes(app.routes)
        for method in sorted(route.methods or ())
    ]


def _api_routes(routes: Any) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif hasattr(route, "effective_candidates"):
            yield from (candidate for candidate in route.effective_candidates())
        else:
            raise AssertionError(f"{route!r} is no guarded route")


def test_every_route_has_a_rule_and_only_the_known_ones_are_public() -> None:
    routes = guarded_routes()
    assert len(routes) > 15
    assert {(method, path) for method, path, rule in routes if rule is Access.PUBLIC} == PUBLIC


def test_a_route_without_a_rule_cannot_be_built() -> None:
    def endpoint() -> None: ...

    with pytest.raises(TypeError, match="has no rule"):
        GuardedRoute("/forgotten", endpoint)


@pytest.mark.parametrize(
    ("held", "demanded", "allowed"),
    [
        (Access.ADMIN, Access.ADMIN, True),
        (Access.ADMIN, Access.INGEST, True),
        (Access.READ, Access.READ, True),
        (Access.READ, Access.ADMIN, False),
        (Access.READ, Access.INGEST, False),
        (Access.READ, Access.WRITE, False),
        (Access.WRITE, Access.READ, True),
        (Access.WRITE, Access.WRITE, True),
        (Access.WRITE, Access.ADMIN, False),
        (Access.WRITE, Access.INGEST, False),
        (Access.ADMIN, Access.WRITE, True),
        (Access.INGEST, Access.WRITE, False),
        (Access.INGEST, Access.INGEST, True),
        (Access.INGEST, Access.READ, False),
        (Access.INGEST, Access.ADMIN, False),
        (Access.INGEST, Access.PUBLIC, True),
    ],
)
def test_what_a_token_grants(held: Access, demanded: Access, allowed: bool) -> None:
    principal = Principal(access=held, name="", run_id="run_a", attempt=1)
    assert principal.may(demanded, run_id="run_a") is allowed


def test_an_ingest_token_is_for_one_attempt_of_one_run() -> None:
    principal = Principal(access=Access.INGEST, name="", run_id="run_a", attempt=2)
    assert not principal.may(Access.INGEST, run_id="run_b")
    assert principal.may_record(2)
    assert not principal.may_record(1)


NOBODYS_RUN = "run_00000000000000000000000000"
ALLOWED: dict[str, tuple[Access, ...]] = {
    "no token": (),
    "wrong": (),
    "read": (Access.READ,),
    "write": (Access.READ, Access.WRITE),
    "ingest of another run": (),
    "ingest of another attempt": (),
}
"""Which rules each token fits, beside PUBLIC."""
RECORDS = {
    "steps:batch": {"steps": [step_message(0).model_dump(mode="json")]},
    "events:batch": {"events": [{"key": "k", "kind": "k", "at": START.isoformat(), "message": "m"}]},
    "rollouts:batch": {"iterations": [iteration_message(0).model_dump(mode="json")]},
    "logs:batch": {"lines": [log_line(0).model_dump(mode="json")]},
    "checkpoints:batch": {"checkpoints": [checkpoint_message(1).model_dump(mode="json")]},
    "heartbeat": {"at": START.isoformat(), "activity": "", "num_steps": 0, "total_steps": None},
    "state": {"outcome": "succeeded", "at": START.isoformat()},
}
"""A right body for every route that records, without its attempt. A new route without one fails the test."""


def ask(http: httpx.Client, method: str, path: str, token: str | None, body: Any = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    # A live stream never ends by itself.
    with http.stream(method, path, headers=headers, json=body if method in ("POST", "PATCH") else None) as answer:
        return answer.status_code


@pytest.mark.stack
def test_each_route_refuses_whom_its_rule_refuses(server: LiveServer) -> None:
    read, write = (
        server.http.post("/api/v1/tokens", json={"name": "t", "access": access}).json()["token"]
        for access in ("read", "write")
    )
    first, other = server.launch(), server.launch()
    run = server.next_attempt(first)
    tokens = dict(zip(ALLOWED, (None, "swa_wrong", read, write, other.token, first.token), strict=True))
    routes = guarded_routes()
    assert {path.rpartition("/")[2] for _, path, rule in routes if rule is Access.INGEST} == set(RECORDS)
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as http:
        for method, path, rule in routes:
            for held, token in tokens.items():
                is_allowed = rule is Access.PUBLIC or rule in ALLOWED[held]
                # What is allowed must change nothing, so that it is asked of a run that is not there.
                real = path.replace("{run_id}", NOBODYS_RUN if is_allowed else run.id).replace("{step}", "0")
                body = {"attempt": run.attempt} | RECORDS.get(path.rpartition("/")[2], {})
                status = ask(http, method, real, token, body if rule is Access.INGEST else {})
                refusal = 401 if held in ("no token", "wrong") else 403
                assert (status in (401, 403)) is not is_allowed, (method, path, held, status)
                assert is_allowed or status == refusal, (method, path, held, status)
    assert server.get(f"/runs/{run.id}")["num_steps"] == 0


@pytest.mark.stack
def test_foreign_pages_reach_no_route(server: LiveServer) -> None:
    given = case("server.json", "dns-rebinding")["given"]
    for method, path, _ in guarded_routes():
        real = path.replace("{run_id}", NOBODYS_RUN).replace("{step}", "0")
        body = {} if method in ("POST", "PATCH") else None
        by_host = server.http.request(method, real, headers={"Host": given["Host"]}, json=body)
        by_origin = server.http.request(method, real, headers={"Origin": given["Origin"]}, json=body)
        assert (by_host.status_code, by_origin.status_code) == (421, 403), (method, path)


@pytest.mark.stack
def test_an_ingest_token_records_its_own_attempt_only(server: LiveServer) -> None:
    first = server.launch()
    second = server.next_attempt(first)
    body = batch_json(step_message(0), attempt=2)
    path = f"/api/v1/runs/{first.id}/steps:batch"
    assert server.http.post(path, json=body, headers=first.headers).status_code == 403
    assert server.http.post(path, json=body, headers=second.headers).status_code == 200
    assert server.http.get(f"/api/v1/runs/{first.id}", headers=second.headers).status_code == 403


@pytest.mark.stack
def test_a_login_link_logs_one_browser_in_once(server: LiveServer) -> None:
    link = server.http.post("/api/v1/login-links").json()["url"]
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        assert browser.head(link).status_code == 405  # looking at a link must not use it up
        answer = browser.get(link)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/api/v1/runs").status_code == 200
    with httpx.Client(base_url=server.url, trust_env=False) as another:
        used = another.get(link)
        assert used.status_code == 410
        assert "does not work any more" in used.text
        assert another.get("/login").status_code == 410
        assert another.get("/api/v1/runs").status_code == 401


@pytest.mark.stack
def test_a_login_code_ends(server: LiveServer) -> None:
    link = server.http.post("/api/v1/login-links").json()["url"]
    past = datetime.now(UTC) - timedelta(seconds=1)

    def work(transaction: Transaction) -> None:
        transaction.connection.execute(update(login_codes).values(expires_at=past))

    server.services.writer.run(work)
    assert httpx.get(server.url + link, trust_env=False).status_code == 410


@pytest.mark.stack
@pytest.mark.parametrize(
    ("target", "location"), [("/runs/a", "/runs/a"), ("//evil.example", "/"), ("https://evil.example", "/")]
)
def test_a_login_leads_to_this_server_only(sqlite_server: LiveServer, target: str, location: str) -> None:
    link = sqlite_server.http.post("/api/v1/login-links").json()["url"]
    answer = httpx.get(sqlite_server.url + link, params={"next": target, **_query(link)}, trust_env=False)
    assert answer.headers["location"] == location


@pytest.mark.stack
def test_foreign_names_and_pages_are_refused_on_every_method(sqlite_server: LiveServer) -> None:
    given = case("server.json", "dns-rebinding")["given"]
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for path in ("/", "/api/v1/runs", "/healthz"):
            by_host = sqlite_server.http.request(method, path, headers={"Host": given["Host"]})
            by_origin = sqlite_server.http.request(method, path, headers={"Origin": given["Origin"]})
            assert (by_host.status_code, by_origin.status_code) == (421, 403), (method, path)


@pytest.mark.stack
def test_a_request_names_one_host(sqlite_server: LiveServer) -> None:
    own = httpx.URL(sqlite_server.url).netloc
    for hosts in ((own, b"evil.example"), (b"evil.example", own), (own, own)):
        with socket.create_connection(("127.0.0.1", sqlite_server.settings.port), timeout=60) as connection:
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\n" + b"".join(b"Host: %s\r\n" % host for host in hosts) + b"\r\n"
            )
            assert connection.recv(4096).startswith(b"HTTP/1.1 421 ")


@pytest.mark.stack
def test_pages_of_other_ports_of_this_machine_are_foreign_too(sqlite_server: LiveServer) -> None:
    for origin, status in (("http://127.0.0.1:3000", 403), ("null", 403), (sqlite_server.url, 200)):
        answer = sqlite_server.http.get("/api/v1/runs", headers={"Origin": origin})
        assert answer.status_code == status, origin


@pytest.mark.stack
def test_another_name_can_be_allowed(tmp_path: Path) -> None:
    from tests.server.live_server import running_server

    with running_server(tmp_path, allowed_hosts=("gpu-box.lan",)) as live:
        assert live.http.get("/healthz", headers={"Host": "GPU-box.lan:8642"}).status_code == 200


@pytest.mark.stack
def test_every_answer_has_the_headers_that_protect_a_browser(sqlite_server: LiveServer) -> None:
    for path in ("/", "/api/v1/runs", "/nowhere", "/api/v1/nowhere", "/login"):
        headers = sqlite_server.http.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert sqlite_server.http.get("/api/v1/runs").headers["cache-control"] == "no-store"


def _query(link: str) -> dict[str, str]:
    return dict(httpx.URL(link).params)
