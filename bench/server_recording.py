"""What recording costs: points in bulk, and acknowledgements of single steps. Our side of `bench.server`."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from tests.drills.server_process import ServerProcess, server_with_runs
from tests.drills.step_bodies import JSON, StepBodies
from tests.server.live_server import LaunchedRun

NUM_METRICS = 30
SAMPLES = (3, 4, 5, 6, 7, 8, 9, 10)
"""Tokens of each sample of a step; its schedule and certificate are verified and stored, too."""
STEPS_PER_BATCH = 100
BULK_WRITERS, BULK_STEPS = 4, 1_000
ACKNOWLEDGEMENTS = 200
PACED_STEPS, PACED_STEPS_PER_S = 50, 5
"""Of each of 8 writers that wait for the next step's moment and not for one another, as training runs do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one program took."""

    bulk_points_per_s: float
    memory_bytes: int
    """Of the server, after all of it."""
    one_writer_s: Sequence[float] = ()
    """Until a single step was acknowledged."""
    eight_writers_s: Sequence[float] = ()
    """The same, of writers that send the next step as soon as the last one was acknowledged."""
    eight_paced_s: Sequence[float] = ()
    """From the moment when a step should have been sent until it was acknowledged."""
    cpu_points_per_s: float | None = None
    """In bulk, for each second of processor time of the server."""


def record(home: Path) -> Recorded:
    """Start a server and record."""
    names = [*(f"bulk {i}" for i in range(BULK_WRITERS)), "one", *(f"writer {i}" for i in range(16))]
    bodies = StepBodies(num_metrics=NUM_METRICS, lengths=SAMPLES)
    with server_with_runs(home, names) as (server, runs):
        bulk, [one, *others] = runs[:BULK_WRITERS], runs[BULK_WRITERS:]
        _bulk(server, one, bodies, 1)  # the first request of a process compiles its statements
        cpu_s, began = _cpu_s(server), time.perf_counter()
        _at_once([partial(_bulk, server, run, bodies, BULK_STEPS) for run in bulk])
        bulk_s, cpu_s = time.perf_counter() - began, _cpu_s(server) - cpu_s
        num_points = BULK_WRITERS * BULK_STEPS * NUM_METRICS
        return Recorded(
            bulk_points_per_s=num_points / bulk_s,
            cpu_points_per_s=num_points / cpu_s,
            one_writer_s=_acknowledged(server, [one], bodies, ACKNOWLEDGEMENTS),
            eight_writers_s=_acknowledged(server, others[:8], bodies, ACKNOWLEDGEMENTS // 4),
            eight_paced_s=_paced(server, others[8:], bodies),
            memory_bytes=server.process.memory_info().rss,
        )


def _bulk(server: ServerProcess, run: LaunchedRun, bodies: StepBodies, num_steps: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for begin in range(0, num_steps, STEPS_PER_BATCH):
        _post(connection, run, bodies.body(range(begin, min(begin + STEPS_PER_BATCH, num_steps))))
    connection.close()


def _acknowledged(
    server: ServerProcess, runs: Sequence[LaunchedRun], bodies: StepBodies, num_steps: int
) -> list[float]:
    seconds: list[float] = []

    def write(run: LaunchedRun) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for step in range(1, num_steps + 1):
            began = time.perf_counter()
            _post(connection, run, bodies.body([step]))
            seconds.append(time.perf_counter() - began)
        connection.close()

    _at_once([partial(write, run) for run in runs])
    return seconds


def _paced(server: ServerProcess, runs: Sequence[LaunchedRun], bodies: StepBodies) -> list[float]:
    """Every run has a schedule of its own, and what is late is sent at once."""
    seconds: list[float] = []
    first_due = time.perf_counter() + 0.1

    def write(run: LaunchedRun, offset_s: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for step in range(PACED_STEPS):
            due, body = first_due + offset_s + step / PACED_STEPS_PER_S, bodies.body([step])
            time.sleep(max(0.0, due - time.perf_counter()))
            _post(connection, run, body)
            seconds.append(time.perf_counter() - due)
        connection.close()

    # At random, some of them nearly at once; the same ones in every round.
    offsets = Random(0)
    _at_once([partial(write, run, offsets.uniform(0.0, 1 / PACED_STEPS_PER_S)) for run in runs])
    return seconds


def _post(connection: http.client.HTTPConnection, run: LaunchedRun, body: bytes) -> None:
    connection.request("POST", f"/api/v1/runs/{run.id}/steps:batch", body, run.headers | JSON)
    answer = connection.getresponse()
    told = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"the server answers {answer.status}: {told[:500]!r}")


def _at_once(calls: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _cpu_s(server: ServerProcess) -> float:
    times = server.process.cpu_times()
    return float(times.user + times.system)
