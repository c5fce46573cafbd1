"""Many writers, many readers and long exports at once: `python -m tests.drills.locks --seconds 60`.

No answer may be a 5xx, the log tells of no lock and no traceback, and every reader sees a whole state of the database.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

import httpx

from tests.drills.own_home import own_home
from tests.drills.server_process import ServerProcess, server_with_runs
from tests.drills.step_bodies import JSON, StepBodies
from tests.server.live_server import LaunchedRun

NUM_WRITERS, NUM_READERS = 16, 8
NUM_METRICS = 8
_EXPORTED_STEPS = 2_000
"""Of the run that one reader exports over and over, slowly."""
_SLOW_READ_S = 0.02


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came back, collected by all threads."""

    acknowledged_s: list[float] = field(default_factory=list)
    """Of each batch of one step."""
    read_s: list[float] = field(default_factory=list)
    num_exports: int = 0
    busy: int = 0
    """429: come again."""
    problems: list[str] = field(default_factory=list)

    def quantile_ms(self, share: float) -> float:
        return 1000 * statistics.quantiles(self.acknowledged_s, n=1000)[round(share * 1000) - 1]

    def __str__(self) -> str:
        found = "\n".join(f"  {problem}" for problem in self.problems[:20]) or "  no lock error, no 5xx"
        return (
            f"locks: {len(self.acknowledged_s)} acknowledgements, p50 {self.quantile_ms(0.5):.1f} ms, "
            f"p99 {self.quantile_ms(0.99):.1f} ms; {len(self.read_s)} reads, median "
            f"{1000 * statistics.median(self.read_s or [0.0]):.1f} ms; {self.num_exports} exports; "
            f"{self.busy} told to come again\n{found}"
        )


def drill(home: Path, *, seconds: float, database_url: str | None) -> Outcome:
    """Write and read for that long."""
    bodies = StepBodies(num_metrics=NUM_METRICS)
    names = ["exported", *(f"writer {i}" for i in range(NUM_WRITERS))]
    # Readers in a process of their own: in one with the writers they would wait for each other.
    with (
        server_with_runs(home, names, database_url=database_url) as (server, (exported, *runs)),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        _record_exported(server, exported, bodies)
        pool.submit(int).result()  # the process is there
        ids = [run.id for run in (exported, *runs)]
        reading = pool.submit(_read_all, home, server.port, ids, seconds)
        outcome, stop = Outcome(), threading.Event()
        with _running([lambda run=run: _write(server, run, bodies, stop, outcome) for run in runs], outcome):
            time.sleep(seconds)
            stop.set()
        read = reading.result()
        faults = server.faults()
    return replace(
        outcome, read_s=read.read_s, num_exports=read.num_exports, problems=outcome.problems + read.problems + faults
    )


def _read_all(home: Path, port: int, ids: list[str], seconds: float) -> Outcome:
    server, outcome, stop = ServerProcess(home=home, database_url=None, port=port), Outcome(), threading.Event()
    names = StepBodies(num_metrics=NUM_METRICS).names
    exported, *others = ids
    work = [lambda run=run: _read(server, run, names, stop, outcome) for run in others[: NUM_READERS - 1]]
    work.append(lambda: _export(server, exported, stop, outcome))
    with _running(work, outcome):
        time.sleep(seconds)
        stop.set()
    return outcome


@contextmanager
def _running(work: list[Callable[[], None]], outcome: Outcome) -> Iterator[None]:
    def guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # a thread of a drill must not end unseen
            outcome.problems.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(call,)) for call in work]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def _record_exported(server: ServerProcess, run: LaunchedRun, bodies: StepBodies) -> None:
    with server.client() as http:
        for begin in range(0, _EXPORTED_STEPS, 200):
            body = bodies.body(range(begin, begin + 200))
            http.post(f"/runs/{run.id}/steps:batch", content=body, headers=run.headers | JSON).raise_for_status()


def _write(
    server: ServerProcess, run: LaunchedRun, bodies: StepBodies, stop: threading.Event, outcome: Outcome
) -> None:
    step = 0
    with server.client() as http:
        while not stop.is_set():
            began = time.perf_counter()
            body = bodies.body([step])
            answer = http.post(f"/runs/{run.id}/steps:batch", content=body, headers=run.headers | JSON)
            if answer.status_code == 429:
                outcome.busy += 1
                continue
            if answer.status_code != 200:
                outcome.problems.append(f"write: {answer.status_code} {answer.text[:200]}")
                continue
            outcome.acknowledged_s.append(time.perf_counter() - began)
            step += 1


def _read(server: ServerProcess, run: str, names: list[str], stop: threading.Event, outcome: Outcome) -> None:
    asked = (
        ("/runs", {}),
        ("/metrics/query", {"run": run, "name": names, "max_points": 100}),
        (f"/runs/{run}/steps", {"limit": 100}),
        (f"/runs/{run}/metrics", {}),
    )
    with server.client() as http:
        while not stop.is_set():
            for path, params in asked:
                began = time.perf_counter()
                answer = http.get(path, params=params)
                outcome.read_s.append(time.perf_counter() - began)
                if answer.status_code != 200:
                    outcome.problems.append(f"read: {path} {answer.status_code} {answer.text[:200]}")
                elif path == "/metrics/query":
                    _check_whole(answer, outcome)


def _check_whole(answer: httpx.Response, outcome: Outcome) -> None:
    """Every step has every metric, so that a consistent state has as many points of each."""
    totals = {series["total"] for series in answer.json()["series"]}
    if len(totals) > 1:
        outcome.problems.append(f"read: half a step was seen, {totals} points of metrics that every step has")


def _export(server: ServerProcess, run: str, stop: threading.Event, outcome: Outcome) -> None:
    with server.client() as http:
        while not stop.is_set():
            num_lines = 0
            with http.stream("GET", f"/runs/{run}/export", params={"format": "jsonl"}) as answer:
                for line in answer.iter_lines():
                    num_lines += 1
                    if num_lines % 100 == 0 and not stop.is_set():
                        time.sleep(_SLOW_READ_S)
                    del line
            outcome.num_exports += 1
            if answer.status_code != 200 or num_lines < _EXPORTED_STEPS:
                outcome.problems.append(f"export: {answer.status_code}, {num_lines} lines")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    with own_home(options.database) as (home, database_url):
        outcome = drill(home, seconds=options.seconds, database_url=database_url)
    sys.stdout.write(f"{outcome}\n")
    raise SystemExit(bool(outcome.problems))


if __name__ == "__main__":
    main()
