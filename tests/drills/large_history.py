"""Asks of a run of ten million steps what it asks of a small one: `python -m tests.drills.large_history`.

Whatever history is asked, the large one takes at most twice as long: rollups, not points, are read. The catalogue adds
up one rollup for each 4,096 steps of every metric, and is told without being judged. The tests ask the same of smaller
runs, and judge what the database does instead of how long it takes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.filled_tables import NAME, fill_long_run
from server.database.engine import Database
from tests.drills.own_home import own_home
from tests.drills.server_process import server_with_runs
from tests.drills.step_bodies import JSON, StepBodies
from tests.server.live_server import LaunchedRun

SMALL, LARGE = 100_000, 10_000_000
MAX_RATIO = 2.0
CATALOGUE = "catalogue"
MAX_POINTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One question, asked of both in turn; the best of all repeats."""

    question: str
    small_s: float
    large_s: float

    @property
    def ratio(self) -> float:
        return self.large_s / self.small_s

    @property
    def is_too_much(self) -> bool:
        return self.question != CATALOGUE and self.ratio > MAX_RATIO

    def __str__(self) -> str:
        return (
            f"  {self.question:12} {self.small_s * 1e3:7.1f} ms, {self.large_s * 1e3:7.1f} ms: {self.ratio:.2f} times"
        )


def drill(
    home: Path, *, small: int, large: int, repeats: int, max_points: int = MAX_POINTS, database_url: str | None = None
) -> list[Cost]:
    """Fill two runs and ask."""
    with (
        server_with_runs(home, ["small", "large"], database_url=database_url) as (server, runs),
        server.client() as http,
    ):
        with closing(Database(database_url or f"sqlite:///{home / 'swell.db'}")) as database:
            for run, num_steps in zip(runs, (small, large), strict=True):
                fill(database, http, run, num_steps=num_steps)
        few, many = questions(runs[0].id, small, max_points), questions(runs[1].id, large, max_points)
        return [
            _cost(http, question, one, other, repeats) for (question, one), (_, other) in zip(few, many, strict=True)
        ]


def fill(database: Database, http: httpx.Client, run: LaunchedRun, *, num_steps: int) -> None:
    """Record the first step of a run, and put the others into the database. http: its addresses begin at /api/v1."""
    body = StepBodies().body([0])
    http.post(f"/runs/{run.id}/steps:batch", content=body, headers=run.headers | JSON).raise_for_status()
    fill_long_run(database, run.id, num_steps=num_steps)


def questions(run: str, num_steps: int, max_points: int) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Each with its name: path and parameters."""
    query = {"run": run, "name": NAME, "max_points": max_points}
    middle = num_steps // 2
    yield "whole", ("/metrics/query", query)
    yield "by samples", ("/metrics/query", query | {"x": "samples"})
    yield "by time", ("/metrics/query", query | {"x": "relative"})
    yield "zoom", ("/metrics/query", query | {"from": middle, "to": middle + max_points})
    yield "half", ("/metrics/query", query | {"from": middle})
    yield CATALOGUE, (f"/runs/{run}/metrics", {})
    yield "first page", (f"/runs/{run}/steps", {"limit": 50})


def _cost(http: httpx.Client, question: str, few: tuple[str, Any], many: tuple[str, Any], repeats: int) -> Cost:
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for i, (path, params) in enumerate((few, many)):
            began = time.perf_counter()
            http.get(path, params=params).raise_for_status()
            best[i] = min(best[i], time.perf_counter() - began)
    return Cost(question=question, small_s=best[0], large_s=best[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=SMALL)
    parser.add_argument("--large", type=int, default=LARGE)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    with own_home(options.database) as (home, url):
        costs = drill(home, small=options.small, large=options.large, repeats=options.repeats, database_url=url)
    told = "\n".join(map(str, costs))
    sys.stdout.write(f"large_history: {options.small:,} against {options.large:,} steps\n{told}\n")
    raise SystemExit(any(cost.is_too_much for cost in costs))


if __name__ == "__main__":
    main()
