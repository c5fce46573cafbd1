"""What asking costs: histories of long runs, and a list among many runs. Our side of `bench.server`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.filled_tables import NAME, SPIKE, fill_long_run, fill_many_runs
from server.database.engine import Database
from tests.drills.server_process import ServerProcess, server_with_runs
from tests.drills.step_bodies import JSON, StepBodies

MAX_POINTS = 1_000
REPEATS = 15
WARM_UP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history of 1,000 points, asked several times."""

    history_s: Sequence[float]
    points: int
    spikes_kept: int
    memory_bytes: int = 0


def long_history(home: Path, *, num_steps: int, spikes: Sequence[int]) -> History:
    """Of one metric of a run with so many steps."""
    with _server_with_one_run(home) as (server, run, database):
        fill_long_run(database, run, num_steps=num_steps, spikes=spikes)
        query = {"run": run, "name": NAME, "max_points": MAX_POINTS}
        seconds, answer = _asked(server, "/metrics/query", query)
        [series] = answer["series"]
        if series["total"] != num_steps:
            raise RuntimeError(f"the server tells of {series['total']} points in place of {num_steps}")
        return History(
            history_s=seconds,
            points=len(series["x"]),
            spikes_kept=sum(high == SPIKE for high in series["max"]),
            memory_bytes=server.process.memory_info().rss,
        )


def list_of_runs(home: Path, *, num_runs: int) -> list[float]:
    """Seconds for 100 among so many."""
    with _server_with_one_run(home) as (server, run, database):
        fill_many_runs(database, run, num_runs=num_runs)
        seconds, answer = _asked(server, "/runs", {"limit": 100})
        if answer["total"] != num_runs + 1:
            raise RuntimeError(f"the server tells of {answer['total']} runs in place of {num_runs + 1}")
        return seconds


@contextmanager
def _server_with_one_run(home: Path) -> Iterator[tuple[ServerProcess, str, Database]]:
    """A server, a run of it with step 0, and its database."""
    with server_with_runs(home, ["long"]) as (server, [run]), server.client() as http:
        body = StepBodies().body([0])
        http.post(f"/runs/{run.id}/steps:batch", content=body, headers=run.headers | JSON).raise_for_status()
        database = Database(f"sqlite:///{home / 'swell.db'}")
        try:
            yield server, run.id, database
        finally:
            database.close()


def _asked(server: ServerProcess, path: str, params: dict[str, Any]) -> tuple[list[float], Any]:
    seconds: list[float] = []
    with server.client(timeout_s=300) as http:
        for _ in range(WARM_UP + REPEATS):
            began = time.perf_counter()
            answer: httpx.Response = http.get(path, params=params)
            seconds.append(time.perf_counter() - began)
            answer.raise_for_status()
    return seconds[WARM_UP:], answer.json()
