from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.server.cases import case
from tests.server.factories import batch_json, spec_json, step_message
from tests.server.live_server import running_server

pytestmark = pytest.mark.stack

HEAVY = ("torch", "ray", "megatron", "transformers", "reasoning_gym")


@contextmanager
def server_process(home: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, from the moment when it answers."""
    environment = os.environ | {"SWELL_HOME": str(home), "SWELL_PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-W", "error", "-m", "server.serve"], env=environment)
    try:
        deadline = time.monotonic() + 20
        while not _answers(port):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def client(home: Path, port: int) -> httpx.Client:
    token = (home / "token").read_text().strip()
    return httpx.Client(
        base_url=f"http://127.0.0.1:{port}/api/v1",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=30,
    )


def test_open_streams_do_not_hold_the_end(tmp_path: Path) -> None:
    num_streams = case("server.json", "sigterm-with-streams")["given"]["open_streams"]
    port, opened = free_port(), threading.Barrier(num_streams + 1)

    def listen() -> None:
        try:
            with client(tmp_path, port) as http, http.stream("GET", "/events") as answer:
                lines = answer.iter_lines()
                next(lines)
                opened.wait()
                for _ in lines:
                    pass
        except httpx.TransportError:
            pass

    with server_process(tmp_path, port) as process:
        threads = [threading.Thread(target=listen) for _ in range(num_streams)]
        for thread in threads:
            thread.start()
        opened.wait(timeout=30)
        told_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
        assert time.monotonic() - told_at < 5
        for thread in threads:
            thread.join(timeout=5)


def test_what_was_answered_outlives_a_killed_server(tmp_path: Path) -> None:
    """Writers post batches of three steps while the server is killed: whole batches are there, none half or twice."""
    num_writers = case("server.json", "kill-9-server")["given"]["writers"]
    home = tmp_path / "home"
    with running_server(home) as live:
        runs = [live.launch(name=f"writer {i}") for i in range(num_writers)]
    port = free_port()
    answered: dict[str, int] = {}

    def write(index: int) -> None:
        run = runs[index]
        with client(home, port) as http:
            for first in range(0, 600, 3):
                body = batch_json(*(step_message(first + i, lengths=(3, 4)) for i in range(3)))
                try:
                    answer = http.post(f"/runs/{run.id}/steps:batch", json=body, headers=run.headers)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                answered[run.id] = first + 3

    with server_process(home, port) as process:
        threads = [threading.Thread(target=write, args=(i,)) for i in range(num_writers)]
        for thread in threads:
            thread.start()
        time.sleep(2.0)
        process.kill()
        for thread in threads:
            thread.join()

    assert len(answered) == num_writers, "every writer was answered at least once"
    with running_server(home) as live:
        for run in runs:
            stored = [step["step"] for step in live.get(f"/runs/{run.id}/steps", limit=1000)["items"]]
            assert stored == list(range(len(stored)))
            assert len(stored) >= answered[run.id]
            assert len(stored) % 3 == 0
            assert live.get(f"/runs/{run.id}")["state"] == "running"
    with closing(sqlite3.connect(home / "swell.db")) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_it_starts_in_two_seconds_and_without_heavy_parts(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "began = time.process_time()\n"
        "from pathlib import Path\n"
        "from server.app import create_app\n"
        "from server.settings import Settings\n"
        f"app = create_app(Settings(home=Path({str(tmp_path)!r})))\n"
        "import asyncio\n"
        "async def up():\n"
        "    async with app.router.lifespan_context(app): print(time.process_time() - began)\n"
        "asyncio.run(up())\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cpu_s, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    # Processor time, so that busy neighbours of the machine do not decide.
    assert float(cpu_s) < 2.0


def test_a_second_start_keeps_runs_and_token(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as first:
        run_id = first.submit()
        token = first.settings.token_path.read_text()
        assert first.settings.token_path.stat().st_mode & 0o777 == 0o600
    with running_server(tmp_path / "home") as second:
        assert second.get(f"/runs/{run_id}")["spec"]["name"] == spec_json()["name"]
        assert second.settings.token_path.read_text() == token
