"""Holds live streams open that are read slowly or never: `python -m tests.drills.streams --seconds 300`.

Meanwhile a run is recorded twenty times a second. The server's memory stays within what its ring of events may hold,
a quick reader hears of every step at once, and SIGTERM ends the process though all streams are open.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.drills.own_home import own_home
from tests.drills.server_process import ServerProcess, server_with_runs
from tests.drills.step_bodies import JSON, StepBodies
from tests.server.live_server import LaunchedRun

STEPS_PER_S = 20
NUM_STREAMS = 20
MAX_GROWTH_BYTES = 40 * 1024 * 1024
"""The ring of events holds 16 MiB; the rest is room for caches of the interpreter and the database."""
MAX_END_S = 5.0
_LISTENS_WITHIN_S = 60.0
_HEARD_WITHIN_S = 60.0
_SETTLED_AFTER = 0.2
"""Share of the time after which memory may only grow by what the ring holds."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What was seen."""

    memory_bytes: list[int] = field(default_factory=list)
    delays_s: list[float] = field(default_factory=list)
    """From the request that recorded a step to its event at the quick reader."""
    acknowledged_s: list[float] = field(default_factory=list)
    exit_code: int = -1
    end_s: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def growth_bytes(self) -> int:
        settled = self.memory_bytes[int(len(self.memory_bytes) * _SETTLED_AFTER) :]
        return max(settled) - settled[0]

    def __str__(self) -> str:
        found = "\n".join(f"  {problem}" for problem in self.problems) or "  memory bounded, nobody else waits"
        return (
            f"streams: memory {self.memory_bytes[0] / 1e6:.0f} to {self.memory_bytes[-1] / 1e6:.0f} MB, "
            f"+{self.growth_bytes / 1e6:.1f} MB once settled; {len(self.delays_s)} steps heard, delay median "
            f"{_ms(self.delays_s, 50)}, p99 {_ms(self.delays_s, 99)}; acknowledged p99 {_ms(self.acknowledged_s, 99)}; "
            f"SIGTERM: exit {self.exit_code} after {self.end_s:.2f} s\n{found}"
        )


def drill(
    home: Path,
    *,
    seconds: float,
    num_streams: int = NUM_STREAMS,
    database_url: str | None = None,
    max_end_s: float = MAX_END_S,
) -> Outcome:
    """Record with one quick reader, one that reads a few bytes a second, and others that never read: so many in all.

    max_end_s: from SIGTERM to the end of the process, at most.
    """
    outcome, sent_at = Outcome(), {}
    listening, stop = threading.Event(), threading.Event()
    with server_with_runs(home, ["seen"], database_url=database_url) as (server, [run]), ExitStack() as streams:
        slow = [streams.enter_context(_stream(server)) for _ in range(num_streams - 1)]
        quick = threading.Thread(target=_listen, args=(server, sent_at, outcome, listening, stop))
        crawling = threading.Thread(target=_crawl, args=(slow[0], stop))
        for thread in (quick, crawling):
            thread.start()
        listening.wait(_LISTENS_WITHIN_S)
        num_steps = _record(server, run, sent_at, outcome, seconds=seconds)
        given_up_at = time.monotonic() + _HEARD_WITHIN_S
        while len(outcome.delays_s) < num_steps and time.monotonic() < given_up_at:
            time.sleep(0.05)
        outcome.exit_code, outcome.end_s = server.terminate()
        stop.set()
        for thread in (quick, crawling):
            thread.join()
        outcome.problems += server.faults()
    outcome.problems += _judged(outcome, num_steps, max_end_s)
    return outcome


def _judged(outcome: Outcome, num_steps: int, max_end_s: float) -> list[str]:
    problems = []
    if outcome.growth_bytes > MAX_GROWTH_BYTES:
        problems.append(f"memory grew by {outcome.growth_bytes} bytes")
    if len(outcome.delays_s) != num_steps:
        problems.append(f"the quick reader heard of {len(outcome.delays_s)} steps of {num_steps}")
    if outcome.exit_code != 0 or outcome.end_s >= max_end_s:
        problems.append(f"SIGTERM: exit {outcome.exit_code} after {outcome.end_s:.2f} s")
    return problems


def _record(
    server: ServerProcess, run: LaunchedRun, sent_at: dict[int, float], outcome: Outcome, *, seconds: float
) -> int:
    bodies, step = StepBodies(num_metrics=30), 0
    with server.client() as http:
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            sent_at[step] = time.monotonic()
            answer = http.post(
                f"/runs/{run.id}/steps:batch", content=bodies.body([step]), headers=run.headers | JSON
            ).raise_for_status()
            outcome.acknowledged_s.append(answer.elapsed.total_seconds())
            step += 1
            if step % STEPS_PER_S == 0:
                outcome.memory_bytes.append(server.process.memory_info().rss)
            time.sleep(max(0.0, began + step / STEPS_PER_S - time.monotonic()))
    return step


@contextmanager
def _stream(server: ServerProcess) -> Iterator[socket.socket]:
    """An open stream of which nothing is read beyond the first bytes."""
    token = (server.home / "token").read_text().strip()
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.connect(("127.0.0.1", server.port))
        host = f"127.0.0.1:{server.port}"
        opened.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        opened.recv(64)
        yield opened


def _crawl(opened: socket.socket, stop: threading.Event) -> None:
    opened.settimeout(0.5)
    while not stop.wait(0.5):
        try:
            if not opened.recv(50):
                return
        except TimeoutError:
            continue
        except OSError:
            return


def _listen(
    server: ServerProcess,
    sent_at: dict[int, float],
    outcome: Outcome,
    listening: threading.Event,
    stop: threading.Event,
) -> None:
    is_steps = False
    try:
        with server.client(timeout_s=60) as http, http.stream("GET", "/events") as answer:
            for line in answer.iter_lines():
                listening.set()
                if line.startswith("event: "):
                    is_steps = line == "event: steps"
                elif is_steps and line.startswith("data: "):
                    now = time.monotonic()
                    outcome.delays_s += [now - sent_at[step] for step in json.loads(line[6:])["step"]]
                if stop.is_set():
                    return
    except httpx.TransportError:
        if not stop.is_set():
            time.sleep(1.0)  # the server ends, and the drill says so right away
        if not stop.is_set():
            outcome.problems.append("the quick reader lost its stream")


def _ms(seconds: list[float], percent: int) -> str:
    return f"{1000 * statistics.quantiles(seconds, n=100)[percent - 1]:.0f} ms" if len(seconds) > 1 else "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    with own_home(options.database) as (home, url):
        outcome = drill(home, seconds=options.seconds, database_url=url)
    sys.stdout.write(f"{outcome}\n")
    raise SystemExit(bool(outcome.problems))


if __name__ == "__main__":
    main()
