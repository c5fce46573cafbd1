"""Kills a recording server at random moments and looks what is left: `python -m tests.drills.durability --kills 20`.

Writers send their batch again until it is answered, as a driver's journal does. At the end every answered batch is
there and whole, nothing is there twice, and the sums that the server keeps agree with the rows.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.drills.own_home import own_home
from tests.drills.server_process import ServerProcess, server_with_runs
from tests.drills.step_bodies import JSON, StepBodies
from tests.server.live_server import LaunchedRun, running_server

BATCH = 3
NUM_WRITERS = 16
_LONGEST_LIFE_S = 1.5
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a drill did and found."""

    kills: int
    answered_steps: int
    repeated_batches: int
    """Answered as duplicates: the kill came between commit and answer."""
    problems: tuple[str, ...]

    def __str__(self) -> str:
        found = "\n".join(f"  {problem}" for problem in self.problems) or "  nothing lost, nothing half, nothing twice"
        return (
            f"durability: {self.kills} kills, {self.answered_steps} steps answered, "
            f"{self.repeated_batches} batches answered as repeats\n{found}"
        )


class Writer:
    """Records one run, batch by batch, until it is told to end. Only what was answered counts."""

    def __init__(self, run: LaunchedRun, server: ServerProcess, bodies: StepBodies, stop: threading.Event) -> None:
        self.run = run
        self.answered = 0
        self.repeats = 0
        self.refusals: list[str] = []
        self._server = server
        self._bodies = bodies
        self._stop = stop
        self.thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        path = f"/runs/{self.run.id}/steps:batch"
        with self._server.client(timeout_s=20) as http:
            while not self._stop.is_set():
                body = self._bodies.body(range(self.answered, self.answered + BATCH))
                try:
                    answer = http.post(path, content=body, headers=self.run.headers | JSON)
                except httpx.TransportError:
                    self._stop.wait(0.02)
                    continue
                if answer.status_code != 200:
                    self.refusals.append(f"{self.run.id}: {answer.status_code} {answer.text[:200]}")
                    self._stop.wait(0.02)
                    continue
                self.repeats += answer.json()["duplicates"] == BATCH
                self.answered += BATCH


def drill(home: Path, *, kills: int, database_url: str | None, seed: int = 0) -> Outcome:
    """Record while the server is killed so many times, start it once more, and compare."""
    bodies, stop, chance = StepBodies(num_metrics=3), threading.Event(), random.Random(seed)
    names = [f"writer {i}" for i in range(NUM_WRITERS)]
    with server_with_runs(home, names, database_url=database_url) as (server, runs):
        writers = [Writer(run, server, bodies, stop) for run in runs]
        for writer in writers:
            writer.thread.start()
        try:
            for _ in range(kills):
                _kill_once(server, chance)
            _wait_for_an_answer(writers)
        finally:
            stop.set()
            for writer in writers:
                writer.thread.join()
    problems = [problem for writer in writers for problem in writer.refusals]
    problems += _integrity(home) if database_url is None else []
    with running_server(home, database_url=database_url) as live:
        for writer in writers:
            problems += _compare(live.http, writer, bodies)
    return Outcome(
        kills=kills,
        answered_steps=sum(writer.answered for writer in writers),
        repeated_batches=sum(writer.repeats for writer in writers),
        problems=tuple(problems),
    )


def _kill_once(server: ServerProcess, chance: random.Random) -> None:
    time.sleep(chance.uniform(0.05, _LONGEST_LIFE_S))
    server.kill()
    server.start()
    # Now and then the next kill comes while it starts.
    if chance.random() < 0.75:
        server.wait_until_it_answers()


def _wait_for_an_answer(writers: Sequence[Writer]) -> None:
    before = [writer.answered for writer in writers]
    deadline = time.monotonic() + 60
    while any(writer.answered == known for writer, known in zip(writers, before, strict=True)):
        assert time.monotonic() < deadline, "the server takes nothing after its last start"
        time.sleep(0.05)


def _integrity(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "swell.db")) as opened:
        found = [row[0] for row in opened.execute("PRAGMA integrity_check")]
        dangling = opened.execute("PRAGMA foreign_key_check").fetchall()
    return [f"integrity_check: {line}" for line in found if line != "ok"] + [f"dangling: {row}" for row in dangling]


def _compare(http: httpx.Client, writer: Writer, bodies: StepBodies) -> list[str]:
    """What the server tells of one run against what was answered."""
    run, problems = writer.run.id, []
    steps = _steps(http, run)
    numbers = [step["step"] for step in steps]
    count = len(numbers)
    if numbers != list(range(count)):
        problems.append(f"{run}: steps are missing or there twice")
    if count < writer.answered:
        problems.append(f"{run}: {writer.answered} steps were answered, {count} are there")
    if count % BATCH:
        problems.append(f"{run}: half a batch, {count} steps of batches of {BATCH}")
    if [step["samples_total"] for step in steps] != [bodies.batch_size * (n + 1) for n in numbers]:
        problems.append(f"{run}: running totals are wrong")
    told = http.get(f"/api/v1/runs/{run}").json()
    if (told["num_steps"], told["last"]["step"]) != (count, count - 1):
        problems.append(f"{run}: the list tells {told['num_steps']} steps, last {told['last']['step']}, of {count}")
    if told["state"] not in ("running", "lost"):
        problems.append(f"{run}: is {told['state']}")
    return problems + _compare_points(http, run, count, bodies)


def _compare_points(http: httpx.Client, run: str, count: int, bodies: StepBodies) -> list[str]:
    query, expected = {"run": run, "name": bodies.names}, [bodies.value(step) for step in range(count)]
    whole = http.get("/api/v1/metrics/query", params=query | {"agg": "none"}).json()["series"]
    summed = http.get("/api/v1/metrics/query", params=query | {"max_points": 2}).json()["series"]
    wrong = [series["name"] for series in whole if series["value"] != expected]
    short = [series["name"] for series in summed if (series["total"], sum(series["weight"])) != (count, count)]
    problems = [f"{run}: points of {name} are missing or wrong" for name in wrong]
    problems += [f"{run}: the rollups of {name} do not hold {count} points" for name in short]
    if len(whole) != len(bodies.names) or len(summed) != len(bodies.names):
        problems.append(f"{run}: has {len(whole)} series of {len(bodies.names)}")
    return problems


def _steps(http: httpx.Client, run: str) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    begin: int | None = 0
    while begin is not None:
        page = http.get(f"/api/v1/runs/{run}/steps", params={"from": begin, "limit": _PAGE}).json()
        found += page["items"]
        begin = page["next_from"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with own_home(options.database) as (home, database_url):
        outcome = drill(home, kills=options.kills, database_url=database_url, seed=options.seed)
    sys.stdout.write(f"{outcome}\n")
    raise SystemExit(bool(outcome.problems))


if __name__ == "__main__":
    main()
