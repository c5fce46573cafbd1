"""A server in a process of its own that drills kill, stop and start again, always at the same address."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.server.live_server import LaunchedRun, running_server

ANSWERS_WITHIN_S = 120.0
"""Far more than a start takes, so that a busy machine is not taken for a server that hangs."""


@dataclass(slots=True, kw_only=True)
class ServerProcess:
    """Its process changes with every start; its home, database and port stay. What it logs is in `log_path`."""

    home: Path
    database_url: str | None
    port: int
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self) -> Path:
        return self.home / "server.log"

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None, "the server was not started"
        return psutil.Process(self._process.pid)

    def start(self) -> None:
        """Start the process; it does not answer yet."""
        environment = os.environ | {"SWELL_HOME": str(self.home), "SWELL_PORT": str(self.port)}
        environment.pop("SWELL_DATABASE_URL", None)
        if self.database_url is not None:
            environment["SWELL_DATABASE_URL"] = self.database_url
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "server.serve"], env=environment, stdout=log, stderr=log
            )

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not self._answers():
            assert self._process is not None, "the server was not started"
            assert self._process.poll() is None, f"the server ended: {self.log_path.read_text()[-2000:]}"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone. Harmless when it was not started."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> tuple[int, float]:
        """SIGTERM; the exit code, and the seconds until the process was gone."""
        assert self._process is not None, "the server was not started"
        told_at = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=60)
        return code, time.monotonic() - told_at

    def faults(self) -> list[str]:
        """The log's lines that tell of a locked database or of an error nobody expected."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return [line for line in lines if "locked" in line or "Traceback" in line or '"level": "ERROR"' in line]

    def client(self, *, timeout_s: float = 30.0) -> httpx.Client:
        """A client with the admin token."""
        token = (self.home / "token").read_text().strip()
        return httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=timeout_s,
        )

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def server_with_runs(
    home: Path, names: Sequence[str], *, database_url: str | None = None
) -> Iterator[tuple[ServerProcess, list[LaunchedRun]]]:
    """A server that answers, and a run for each name whose first attempt may be recorded."""
    # Nobody starts jobs here, so that what a supervisor would do is done before.
    with running_server(home, database_url=database_url) as live:
        runs = [live.launch(name=name) for name in names]
    server = ServerProcess(home=home, database_url=database_url, port=_free_port())
    server.start()
    try:
        server.wait_until_it_answers()
        yield server, runs
    finally:
        server.kill()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
