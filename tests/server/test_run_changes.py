from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from orchestrator.contracts.run_state import RunTrigger
from server.database.tables import idempotency_keys, metadata
from server.database.writer import Transaction
from tests.server.cases import case
from tests.server.factories import metric, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server

pytestmark = pytest.mark.stack


def ended(server: LiveServer, **changes: Any) -> LaunchedRun:
    """A run with a step that has failed."""
    run = server.launch(**changes)
    server.record(run, step_message(0, metrics={"m": metric(1.0)}), step_message(1))
    server.services.runs.apply(run.id, RunTrigger.FAIL, reason="r")
    return run


def test_equal_requests_with_one_key_make_one_run(server: LiveServer) -> None:
    times = case("server.json", "idempotent-create")["given"]["parallel_posts_same_key"]
    headers = {"Idempotency-Key": "k1"}

    def post(_: int) -> tuple[int, Any]:
        answer = server.http.post("/api/v1/runs", json=spec_json(), headers=headers)
        return answer.status_code, answer.json()

    with ThreadPoolExecutor(times) as pool:
        answers = list(pool.map(post, range(times)))
    assert answers == [answers[0]] * times
    assert answers[0][0] == 201
    assert server.get("/runs")["total"] == 1
    other = server.http.post("/api/v1/runs", json=spec_json(name="other"), headers=headers)
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-key-reused")
    assert other.json()["errors"][0]["parameter"] == "Idempotency-Key"
    assert server.http.post("/api/v1/runs", json=spec_json(), headers={"Idempotency-Key": "k2"}).status_code == 201
    assert server.get("/runs")["total"] == 2


def test_a_key_is_its_clients_own_and_lasts_a_day(server: LiveServer) -> None:
    headers = {"Idempotency-Key": "k"}
    first = server.http.post("/api/v1/runs", json=spec_json(), headers=headers).json()["id"]
    token = server.http.post("/api/v1/tokens", json={"name": "another", "access": "admin"}).json()["token"]
    by_another = server.http.post(
        "/api/v1/runs", json=spec_json(), headers=headers | {"Authorization": f"Bearer {token}"}
    )
    assert by_another.json()["id"] != first

    def work(transaction: Transaction) -> None:
        old = datetime.now(UTC) - timedelta(hours=25)
        transaction.connection.execute(update(idempotency_keys).values(created_at=old))

    server.services.writer.run(work)
    server.http.post("/api/v1/runs", json=spec_json(), headers={"Idempotency-Key": "newer"})
    assert server.http.post("/api/v1/runs", json=spec_json(), headers=headers).json()["id"] != first


def test_name_tags_and_priority_change_and_an_event_tells_who_did_it(server: LiveServer) -> None:
    run_id = server.submit(tags={"task": "old", "seed": "1"})
    change = {"name": "renamed", "tags": {"task": "new"}, "priority": 5}
    answer = server.http.patch(f"/api/v1/runs/{run_id}", json=change)
    run = answer.json()
    assert (run["name"], run["tags"], run["priority"]) == ("renamed", {"task": "new"}, 5)
    assert answer.headers["etag"] == f'"{run["version"]}"'
    assert server.get("/runs", tag="task=new")["items"][0]["id"] == run_id
    assert server.get("/runs/renamed") == run
    event = server.get(f"/runs/{run_id}/events")["items"][-1]
    assert (event["kind"], event["data"]) == ("run.changed", change)
    assert event["message"] == "admin changed name, tags, priority"
    unchanged = server.http.patch(f"/api/v1/runs/{run_id}", json={}).json()
    assert {**unchanged, "version": 0} == {**run, "version": 0}


def test_nobodys_change_is_overwritten_unseen(server: LiveServer) -> None:
    run_id = server.submit()
    path = f"/api/v1/runs/{run_id}"
    read = server.http.get(path).headers["etag"]
    headers = {"If-Match": read}
    assert server.http.patch(path, json={"priority": 1}, headers=headers).status_code == 200
    late = server.http.patch(path, json={"priority": 2}, headers=headers)
    assert (late.status_code, late.json()["type"]) == (412, "/problems/stale-version")
    assert server.http.delete(path, headers=headers).status_code == 412
    assert server.http.patch(path, json={"priority": 3}, headers={"If-Match": "*"}).json()["priority"] == 3
    odd = server.http.patch(path, json={"priority": 4}, headers={"If-Match": "7"})
    assert (odd.status_code, odd.json()["errors"][0]["parameter"]) == (422, "If-Match")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": "  "}, "/name"),
        ({"priority": True}, "/priority"),
        ({"priority": 1001}, "/priority"),
        ({"tags": {"": "x"}}, "/tags/"),
        ({"state": "running"}, "/state"),
    ],
)
def test_a_change_that_cannot_be_is_refused(sqlite_server: LiveServer, change: dict[str, Any], pointer: str) -> None:
    run_id = sqlite_server.submit()
    answer = sqlite_server.http.patch(f"/api/v1/runs/{run_id}", json=change)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


def test_an_archived_run_is_left_out_of_lists_until_it_comes_back(server: LiveServer) -> None:
    run, kept = ended(server), server.submit(name="kept")
    path = f"/api/v1/runs/{run.id}"
    assert server.http.patch(path, json={"archived": True}).json()["archived_at"] is not None
    assert [each["id"] for each in server.get("/runs")["items"]] == [kept]
    assert server.get("/runs")["by_state"]["failed"] == 0
    assert [each["id"] for each in server.get("/runs", archived="true")["items"]] == [kept, run.id]
    assert server.get(f"/runs/{run.id}/steps")["total"] == 2
    assert server.http.patch(path, json={"archived": False}).json()["archived_at"] is None
    assert server.get("/runs")["total"] == 2
    active = server.http.patch(f"/api/v1/runs/{kept}", json={"archived": True})
    assert (active.status_code, active.json()["type"]) == (409, "/problems/run-active")


def rows_left(server: LiveServer) -> dict[str, int]:
    with server.services.database.read() as connection:
        counts = {
            name: connection.scalar(select(func.count()).select_from(table)) for name, table in metadata.tables.items()
        }
    return {
        name: count for name, count in counts.items() if count and name not in ("tokens", "login_codes", "audit_events")
    }


def wait_until_removed(server: LiveServer) -> None:
    deadline = time.monotonic() + 30
    while rows_left(server):
        assert time.monotonic() < deadline, rows_left(server)
        time.sleep(0.05)


@pytest.fixture
def hasty_server(tmp_path: Path, database_url: str | None) -> Iterator[LiveServer]:
    """A server that restores nothing."""
    with running_server(tmp_path / "home", database_url=database_url, delete_grace_s=0.0) as live:
        yield live


def test_a_deleted_run_is_gone_at_once_and_leaves_nothing(
    hasty_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = hasty_server
    monkeypatch.setattr("server.runs.removal._CHUNK_ROWS", 3)
    run = ended(server, tags={"a": "b"})
    directory = server.settings.run_dir(run.id)
    directory.mkdir(parents=True)
    (directory / "journal").write_text("x")
    answer = server.http.delete(f"/api/v1/runs/{run.id}")
    assert (answer.status_code, answer.json()["id"]) == (202, run.id)
    assert server.get("/runs", archived="true")["total"] == 0
    for path in (run.id, f"{run.id}/steps", f"{run.id}/metrics", "demo"):
        assert server.http.get(f"/api/v1/runs/{path}").status_code == 404
    assert server.record(run, step_message(2)).status_code == 404
    assert server.http.delete(f"/api/v1/runs/{run.id}").status_code == 404
    wait_until_removed(server)
    deadline = time.monotonic() + 10
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not directory.exists()


def test_a_run_that_goes_on_is_not_deleted(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.delete(f"/api/v1/runs/{run.id}")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/run-active")
    assert server.record(run, step_message(0)).status_code == 200


def test_what_a_server_did_not_get_to_remove_the_next_one_does(tmp_path: Path, database_url: str | None) -> None:
    with running_server(tmp_path, database_url=database_url) as live:
        run = ended(live)
        assert live.http.delete(f"/api/v1/runs/{run.id}").status_code == 202
        assert rows_left(live)["steps"] == 2
    with running_server(tmp_path, database_url=database_url, delete_grace_s=0.0) as live:
        wait_until_removed(live)


def test_whoever_watches_is_told_to_ask_again(server: LiveServer) -> None:
    run = ended(server)
    with server.http.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        next(lines)
        server.http.delete(f"/api/v1/runs/{run.id}")
        assert any(line == "event: resync" for line in lines)


def test_a_deletion_can_be_taken_back_for_a_while(server: LiveServer) -> None:
    run = ended(server, tags={"a": "b"})
    path = f"/api/v1/runs/{run.id}"
    assert server.http.post(f"{path}/restore").json()["type"] == "/problems/not-deleted"
    before = server.get(f"/runs/{run.id}")
    told = server.http.delete(path).json()
    grace = datetime.fromisoformat(told["restorable_until"]) - datetime.now(UTC)
    assert timedelta(seconds=10) < grace < timedelta(seconds=31)
    newer = ended(server)
    assert server.get("/runs/demo")["id"] == newer.id
    restored = server.http.post(f"{path}/restore")
    assert restored.status_code == 200, restored.text
    changed = {"version": restored.json()["version"]}
    assert restored.json() == before | changed
    assert (server.get("/runs")["total"], server.get("/runs/demo")["id"]) == (2, newer.id)
    assert len(server.get(f"/runs/{run.id}/steps")["items"]) == 2
    messages = [event["message"] for event in server.get(f"/runs/{run.id}/events")["items"]]
    assert messages[-2:] == ["admin deleted it", "admin took its deletion back"]
    assert server.http.post("/api/v1/runs/nobody/restore").status_code == 404


def test_a_run_whose_records_go_already_is_not_restored(hasty_server: LiveServer) -> None:
    run = ended(hasty_server)
    hasty_server.http.delete(f"/api/v1/runs/{run.id}")
    answer = hasty_server.http.post(f"/api/v1/runs/{run.id}/restore")
    assert (answer.status_code, answer.json()["type"]) in (
        (409, "/problems/restore-too-late"),
        (404, "/problems/not-found"),
    )


def test_a_key_whose_run_was_deleted_says_so(server: LiveServer) -> None:
    headers = {"Idempotency-Key": "k"}
    run = server.http.post("/api/v1/runs", json=spec_json(), headers=headers).json()["id"]
    server.http.post(f"/api/v1/runs/{run}/cancel")
    server.http.delete(f"/api/v1/runs/{run}")
    answer = server.http.post("/api/v1/runs", json=spec_json(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/run-deleted")
