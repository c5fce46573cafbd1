from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from server.retention.limits import RetentionLimits
from server.settings import Settings
from tests.server.factories import START, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import iteration_message, log_line, post

LIMITS = RetentionLimits(rollout_steps=3, log_lines=5, schedule_steps=2, timeline_steps=None, system_days=None)


@pytest.fixture
def server(tmp_path: Path, database_url: str | None) -> Iterator[LiveServer]:
    """A server that keeps little."""
    with running_server(tmp_path / "home", database_url=database_url, retention=LIMITS) as live:
        yield live


def recorded(server: LiveServer) -> LaunchedRun:
    """A run with ten steps, as many iterations, and twelve lines."""
    run = server.launch()
    server.record(run, *(step_message(i) for i in range(10)))
    began = [START + timedelta(seconds=i) for i in range(11)]
    for kind, messages in (
        ("rollouts", [iteration_message(i, started_at=began[i], ended_at=began[i + 1]) for i in range(10)]),
        ("logs", [log_line(i) for i in range(12)]),
    ):
        answer = post(server, run, kind, *messages)
        assert answer.status_code == 200, answer.text
    return run


@pytest.mark.stack
def test_what_is_older_than_the_limits_is_taken_away_and_told(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.retention.keeper._PAUSE_S", 0.0)
    run, keeper = recorded(server), server.services.retention
    for _ in range(2):
        keeper.look()
    status = [server.http.get(f"/api/v1/runs/{run.id}/steps/{i}/schedule").status_code for i in range(10)]
    assert status == [404] * 8 + [200] * 2
    gone = server.http.get(f"/api/v1/runs/{run.id}/steps/3/schedule").json()
    assert gone["detail"] == "Its schedule is not kept (limit: schedules of the newest 2 steps)."
    assert len(server.get(f"/runs/{run.id}/steps")["items"]) == 10
    kept = [server.get(f"/runs/{run.id}/rollouts/r{i}.0.0")["kept"] for i in range(10)]
    assert kept == [False] * 7 + [True] * 3
    lines = server.get(f"/runs/{run.id}/logs", limit=100)["items"]
    assert [line["number"] for line in lines] == [7, 8, 9, 10, 11]
    told: dict[str, Any] = server.get(f"/runs/{run.id}/retention")
    assert {each["kind"]: (each["num_removed"], each["limit"]) for each in told["pruned"]} == {
        "logs": (7, 5),
        "rollouts": (7, 3),
        "schedules": (8, 2),
    }
    assert (told["schedule_steps"], told["timeline_steps"]) == (2, None)
    # What is recorded later makes more of it old.
    server.record(run, step_message(10))
    keeper.look()
    assert server.http.get(f"/api/v1/runs/{run.id}/steps/8/schedule").status_code == 404


def test_each_limit_can_be_set_and_turned_off() -> None:
    environment = {"SWELL_KEEP_ROLLOUT_STEPS": "all", "SWELL_KEEP_SCHEDULE_STEPS": "1000"}
    limits = Settings.from_environment(environment).retention
    assert (limits.rollout_steps, limits.schedule_steps, limits.log_lines) == (None, 1000, 200_000)
    with pytest.raises(ValueError, match="SWELL_KEEP_LOG_LINES"):
        Settings.from_environment({"SWELL_KEEP_LOG_LINES": "0"})
