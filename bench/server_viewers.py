"""Many browsers on the live stream of one run that is recorded ten times a second. Our side of `bench.server`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.drills.server_process import server_with_runs
from tests.drills.step_bodies import JSON, StepBodies

NUM_VIEWERS, EVENTS_PER_S, SECONDS = 100, 10, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What watching costs."""

    idle_core_share: float
    """Of one core, while nobody watches and the run is recorded just so."""
    core_share: float
    delay_s: Sequence[float]
    """From the acknowledgement's request to a viewer's frame with that step, of every viewer and step."""


def watch(home: Path) -> Watched:
    """Record with and without viewers."""
    bodies = StepBodies(num_metrics=30)
    with server_with_runs(home, ["seen"]) as (server, [run]), server.client() as http:
        sent_at: dict[int, float] = {}

        def record(begin: int) -> float:
            times, began = server.process.cpu_times(), time.monotonic()
            for index in range(SECONDS * EVENTS_PER_S):
                time.sleep(max(0.0, began + index / EVENTS_PER_S - time.monotonic()))
                sent_at[begin + index] = time.time()
                body = bodies.body([begin + index])
                http.post(f"/runs/{run.id}/steps:batch", content=body, headers=run.headers | JSON).raise_for_status()
            now = server.process.cpu_times()
            return (now.user + now.system - times.user - times.system) / (time.monotonic() - began)

        idle = record(0)
        viewers = subprocess.Popen(
            [sys.executable, "-m", "bench.server_viewers", str(server.port), (home / "token").read_text().strip()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert viewers.stdout is not None
        viewers.stdout.readline()  # all are connected
        first_seen = SECONDS * EVENTS_PER_S
        share = record(first_seen)
        time.sleep(1.0)
        told, _ = viewers.communicate("end\n", timeout=60)
        arrived: list[tuple[int, float]] = json.loads(told)
    return Watched(
        idle_core_share=idle,
        core_share=share,
        delay_s=[at - sent_at[step] for step, at in arrived if step >= first_seen],
    )


async def _view(port: int, token: str, arrived: list[tuple[int, float]], opened: asyncio.Semaphore) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(request.encode())
    opened.release()
    is_steps = False
    while line := await reader.readline():
        if line.startswith(b"event: "):
            is_steps = line.strip() == b"event: steps"
        elif is_steps and line.startswith(b"data: "):
            at = time.time()
            arrived.extend((step, at) for step in json.loads(line[6:])["step"])


async def _view_all(port: int, token: str) -> list[tuple[int, float]]:
    arrived: list[tuple[int, float]] = []
    opened = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(_view(port, token, arrived, opened)) for _ in range(NUM_VIEWERS)]
    for _ in tasks:
        await opened.acquire()
    await asyncio.sleep(1.0)
    sys.stdout.write("connected\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    for task in tasks:
        task.cancel()
    return arrived


def main() -> None:
    """The viewers, in a process of their own: a port and a token as arguments."""
    arrived = asyncio.run(_view_all(int(sys.argv[1]), sys.argv[2]))
    sys.stdout.write(json.dumps(arrived) + "\n")


if __name__ == "__main__":
    main()
