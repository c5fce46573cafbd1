from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from orchestrator.contracts.run_state import RunState
from server.database.tables import runs, to_microseconds
from server.database.writer import Transaction
from server.runs.run_id import new_run_id
from server.runs.sorting import SortKey
from tests.server.factories import spec_json
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack

START = datetime(2026, 1, 1, tzinfo=UTC)


def fill(server: LiveServer, count: int) -> list[dict[str, Any]]:
    """Runs that differ in everything that a list is sorted by, some of it equal or unknown."""
    states = [RunState.RUNNING, RunState.FAILED, RunState.QUEUED]
    rows = [
        {
            "id": new_run_id(START + timedelta(seconds=i)),
            "name": f"{'aBcD'[i % 4]}{i % 5}",
            "kind": "managed",
            "state": states[i % 3],
            "spec": json.dumps(spec_json()),
            "batch_policy": "all",
            "parallelism": "dp 2",
            "created_at": START,
            "state_changed_at": START,
            "started_at": None if i % 3 == 2 else START + timedelta(seconds=i % 7),
            "num_steps": i % 6,
            "last_reward": None if i % 4 == 0 else (i % 5) / 10,
            "last_loss": None if i % 5 == 0 else -float(i % 3),
            "last_batch_size": None if i % 2 == 0 else 64 + i % 4,
        }
        for i in range(count)
    ]

    def work(transaction: Transaction) -> None:
        transaction.connection.execute(insert(runs), rows)

    server.services.writer.run(work)
    return [{**row, "key": i} for i, row in enumerate(rows)]


VALUES: dict[SortKey, Any] = {
    SortKey.CREATED: lambda row: row["key"],
    SortKey.NAME: lambda row: row["name"].lower(),
    SortKey.STATE: lambda row: list(RunState).index(row["state"]),
    SortKey.STARTED: lambda row: None if row["started_at"] is None else to_microseconds(row["started_at"]),
    SortKey.STEPS: lambda row: row["num_steps"],
    SortKey.REWARD: lambda row: row["last_reward"],
    SortKey.LOSS: lambda row: row["last_loss"],
    SortKey.BATCH_SIZE: lambda row: row["last_batch_size"],
}


def test_a_list_is_sorted_by_anything_page_by_page_with_the_unknown_at_its_end(server: LiveServer) -> None:
    rows = fill(server, 50)
    for key in SortKey:
        for order, is_descending in (("asc", False), ("desc", True)):
            value = VALUES[key]
            known = [row for row in rows if value(row) is not None]
            unknown = [row for row in rows if value(row) is None]
            expected = sorted(known, key=lambda row: (value(row), row["key"]), reverse=is_descending)
            expected += sorted(unknown, key=lambda row: row["key"], reverse=is_descending)
            found: list[str] = []
            cursor: dict[str, str] = {}
            while True:
                page = server.get("/runs", sort=key, order=order, limit=13, **cursor)
                found += [run["id"] for run in page["items"]]
                if page["next_cursor"] is None:
                    break
                cursor = {"cursor": page["next_cursor"]}
            assert found == [row["id"] for row in expected], (key, order)


def test_a_cursor_belongs_to_its_order_and_filter(sqlite_server: LiveServer) -> None:
    fill(sqlite_server, 10)
    cursor = sqlite_server.get("/runs", sort="reward", limit=5)["next_cursor"]
    for other in ({"sort": "loss"}, {"sort": "reward", "order": "asc"}, {"sort": "reward", "text": "a"}, {}):
        answer = sqlite_server.http.get("/api/v1/runs", params={"cursor": cursor, **other})
        assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "cursor"), other
    for forged in (["x", 3, "f"], [True, 3, "f"], [1.5, 2**80, "f"], [{}, 1, "f"], [1]):
        text = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode()
        assert sqlite_server.http.get("/api/v1/runs", params={"cursor": text, "sort": "reward"}).status_code == 422
    assert sqlite_server.http.get("/api/v1/runs", params={"sort": "colour"}).status_code == 422
