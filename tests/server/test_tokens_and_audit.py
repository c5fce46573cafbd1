from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.server.factories import spec_json, step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def made(server: LiveServer, access: str, name: str = "ci") -> Any:
    answer = server.http.post("/api/v1/tokens", json={"name": name, "access": access})
    assert answer.status_code == 201, answer.text
    return answer.json()


def bearer(token: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {token['token']}"}


def test_tokens_are_listed_without_their_secrets_and_end_when_they_are_revoked(server: LiveServer) -> None:
    first, second = made(server, "read", "viewer"), made(server, "write")
    listed = server.http.get("/api/v1/tokens")
    assert [(t["id"], t["name"], t["access"], t["kind"]) for t in listed.json()["items"]] == [
        (second["id"], "ci", "write", "api"),
        (first["id"], "viewer", "read", "api"),
    ]
    assert first["token"] not in listed.text
    assert server.http.get("/api/v1/runs", headers=bearer(first)).status_code == 200
    for _ in range(2):
        assert server.http.delete(f"/api/v1/tokens/{first['id']}").status_code == 204
    assert server.http.get("/api/v1/runs", headers=bearer(first)).status_code == 401
    assert server.http.get("/api/v1/runs", headers=bearer(second)).status_code == 200
    assert server.get("/tokens")["items"][1]["revoked_at"] is not None
    assert server.http.delete("/api/v1/tokens/999").status_code == 404


def test_a_browser_is_logged_out_by_revoking_its_session(server: LiveServer) -> None:
    link = server.http.post("/api/v1/login-links").json()["url"]
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        browser.get(link)
        assert browser.get("/api/v1/runs").status_code == 200
        (session,) = server.get("/tokens")["items"]
        assert (session["kind"], session["expires_at"] is not None) == ("session", True)
        server.http.delete(f"/api/v1/tokens/{session['id']}")
        assert browser.get("/api/v1/runs").status_code == 401


def test_whoever_may_write_submits_and_ends_runs_and_makes_no_tokens(server: LiveServer) -> None:
    headers = bearer(made(server, "write"))
    run = server.http.post("/api/v1/runs", json=spec_json(), headers=headers).json()["id"]
    assert server.http.post(f"/api/v1/runs/{run}/cancel", headers=headers).status_code == 200
    assert server.http.get("/api/v1/runs", headers=headers).json()["total"] == 1
    assert server.http.post("/api/v1/tokens", json={"name": "x", "access": "read"}, headers=headers).status_code == 403
    assert server.http.get("/api/v1/audit", headers=headers).status_code == 403


def test_every_change_is_noted_with_who_made_it(server: LiveServer) -> None:
    headers = bearer(made(server, "write"))
    answer = server.http.post("/api/v1/runs", json=spec_json(), headers={**headers, "X-Request-Id": "r-7"})
    run = answer.json()["id"]
    server.http.patch(f"/api/v1/runs/{run}", json={"priority": 1}, headers=headers)
    server.http.post("/api/v1/runs", json={}, headers=headers)  # refused: it changed nothing
    server.http.get("/api/v1/runs", headers=headers)
    server.http.post("/api/v1/plan", json={"spec": spec_json()}, headers=headers)
    events = server.get("/audit")["items"]
    assert [(e["actor"], e["operation"], e["path"], e["status"]) for e in events] == [
        ("ci", "changeRun", f"/api/v1/runs/{run}", 200),
        ("ci", "createRun", "/api/v1/runs", 201),
        ("admin", "createToken", "/api/v1/tokens", 201),
    ]
    assert events[1]["request_id"] == "r-7"


def test_changes_come_in_pages_and_what_drivers_record_is_not_among_them(server: LiveServer) -> None:
    for i in range(3):
        server.submit(name=f"n{i}")
    run = server.launch()
    server.record(run, step_message(0))
    page = server.get("/audit", limit=3)
    assert len(page["items"]) == 3
    rest = server.get("/audit", limit=3, before=page["next_before"])
    assert ([e["operation"] for e in rest["items"]], rest["next_before"]) == (["createRun"], None)


def test_a_change_that_cannot_be_noted_is_not_made(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("server.audit.pending._write", broken)
        # A connection of its own: the server closes one on which it failed.
        token = {"Authorization": server.http.headers["Authorization"]}
        answer = httpx.post(f"{server.url}/api/v1/runs", json=spec_json(), headers=token, trust_env=False, timeout=30)
        assert answer.status_code == 500
    assert (server.get("/runs")["total"], server.get("/audit")["items"]) == (0, [])
    assert server.http.post("/api/v1/runs", json=spec_json()).status_code == 201
    assert len(server.get("/audit")["items"]) == 1


def test_a_token_gets_another_secret_and_the_old_one_ends(server: LiveServer) -> None:
    old = made(server, "write")
    new = server.http.post(f"/api/v1/tokens/{old['id']}/rotate").json()
    assert (new["id"], new["name"], new["access"]) == (old["id"], "ci", "write")
    assert server.http.get("/api/v1/runs", headers=bearer(old)).status_code == 401
    assert server.http.get("/api/v1/runs", headers=bearer(new)).status_code == 200
    assert server.get("/tokens")["items"][0]["rotated_at"] is not None
    server.http.delete(f"/api/v1/tokens/{old['id']}")
    assert server.http.post(f"/api/v1/tokens/{old['id']}/rotate").json()["type"] == "/problems/not-rotatable"
    assert server.http.post("/api/v1/tokens/999/rotate").status_code == 404
    assert server.http.post(f"/api/v1/tokens/{old['id']}/rotate", headers=bearer(new)).status_code == 401


def test_the_admin_token_gets_another_secret_in_its_file_too(server: LiveServer) -> None:
    path = server.settings.token_path
    old = path.read_text().strip()
    new = server.http.post("/api/v1/admin-token/rotate").json()["token"]
    assert path.read_text() == new + "\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.glob("token*")] == ["token"]
    assert server.http.get("/api/v1/runs").status_code == 401
    assert server.http.get("/api/v1/tokens", headers=bearer({"token": new})).status_code == 200
    audit = server.http.get("/api/v1/audit", headers=bearer({"token": new}))
    assert audit.json()["items"][0]["operation"] == "rotateAdminToken"
    assert new not in audit.text
    assert old != new


def test_admin_tokens_that_are_changed_at_once_leave_one_that_works(server: LiveServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.http.post("/api/v1/admin-token/rotate"), range(8)))
    # Whoever comes after the first change may be refused: the token that it sends has ended.
    assert {answer.status_code for answer in answers} <= {200, 401}
    told = [answer.json()["token"] for answer in answers if answer.status_code == 200]
    works = [token for token in told if server.http.get("/api/v1/runs", headers=bearer({"token": token})).is_success]
    assert works == [server.settings.token_path.read_text().strip()]
