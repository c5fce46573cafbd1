"""A whole Swell as a user has it: `swell up` in its own process, real Ray, real training, commands from a shell."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from server.supervisor import processes
from server.supervisor.cluster import JOB_TAG
from tests.server.swell_commands import Result

TINY = Path(__file__).parent / "tiny.yaml"
UP_WITHIN_S = 30.0
TRAINING_WITHIN_S = 120.0


@dataclass(slots=True, kw_only=True)
class SwellStack:
    """One home with its server, which may be killed and started again at the same address."""

    home: Path
    port: int = field(default_factory=lambda: free_port())
    _server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self) -> Path:
        return self.home.parent / "up.log"

    @property
    def taken(self) -> Path:
        """A file where somebody wants a directory."""
        return self.home.parent / "taken"

    def up(self, *options: str) -> None:
        """Start the server and wait until it answers."""
        with self.log_path.open("ab") as log:
            self._server = subprocess.Popen(
                self._command("up", "--no-browser", *options),
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_for(self._is_ready, UP_WITHIN_S, "the server answers")

    def kill_server(self) -> None:
        """kill -9, as a crash would be: nothing can be tidied up."""
        assert self._server is not None
        self._server.send_signal(signal.SIGKILL)
        self._server.wait()
        self._server = None

    def down(self) -> None:
        """End everything of this home."""
        self.swell("down", "--force", timeout_s=60)
        if self._server is not None:
            self._server.wait(timeout=30)
            self._server = None

    def swell(self, *arguments: str, timeout_s: float = 120) -> Result:
        """Run a command to its end."""
        done = subprocess.run(
            self._command(*arguments),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of an API path that answers."""
        answer = httpx.get(
            f"{self.url}/api/v1{path}", params=params, headers=self.headers(), timeout=30, trust_env=False
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/api/v1{path}", json=body, headers=self.headers(), timeout=30, trust_env=False)

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.home / 'token').read_text().strip()}"}

    def submit(self, *, name: str, **changes: Any) -> str:
        """Queue a tiny run; `changes` replace top-level fields. Returns its id."""
        settings = [f"{field}={json.dumps(value)}" for field, value in {"name": name, **changes}.items()]
        done = self.swell("submit", str(TINY), *(part for text in settings for part in ("--set", text)), "--json")
        assert done.code == 0, done.err
        return str(done.json["id"])

    def steps(self, run: str) -> list[dict[str, Any]]:
        """All steps of a run in the current view."""
        found: list[dict[str, Any]] = []
        first: int | None = 0
        while first is not None:
            page = self.get(f"/runs/{run}/steps", limit=1000, **{"from": first})
            found += page["items"]
            first = page["next_from"]
        return found

    def values(self, run: str, name: str) -> dict[int, float]:
        """A metric by step, over all attempts that the run shows."""
        found = self.get("/metrics/query", run=run, name=name, max_points=10_000)["series"]
        return {step: value for series in found for step, value in zip(series["step"], series["value"], strict=True)}

    def state(self, run: str) -> str:
        return str(self.get(f"/runs/{run}")["state"])

    def wait_until_it_trains(self, run: str, *, num_steps: int = 1) -> None:
        what = f"{run} has {num_steps} steps"
        self.wait_for(lambda: self.get(f"/runs/{run}")["num_steps"] >= num_steps, TRAINING_WITHIN_S, what)

    def processes_of(self, run: str, attempt: int = 1) -> list[psutil.Process]:
        """Every living process of the run's job."""
        return processes.tagged(JOB_TAG, f"{run}-{attempt}")

    def wait_for(self, holds: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until it holds; otherwise fail with what the server said."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout_s:.0f} s: {what}\n{self.story()}")
            time.sleep(0.2)

    def story(self) -> str:
        """The end of the server's log and the runs' reasons, for failures."""
        log = self.log_path.read_text()[-3000:] if self.log_path.exists() else ""
        return f"{self.swell('runs').out}\n{log}"

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SWELL_", "RAY_"))}
        return inherited | {"SWELL_HOME": str(self.home), "SWELL_PORT": str(self.port)}

    def _command(self, *arguments: str) -> Sequence[str]:
        return [sys.executable, "-m", "server.cli.main", *arguments]

    def _is_ready(self) -> bool:
        assert self._server is not None
        code = self._server.poll()
        assert code is None, f"`swell up` ended with {code}\n{self.log_path.read_text()}"
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
