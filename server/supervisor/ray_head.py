"""The local Ray head: started when the first run needs it, adopted by the next server, ended by its pid.

The head is a process group of its own, so that it and its jobs outlive a server that dies. What is known of it is in
`ray-head.json`. Never calls `ray stop`, which would end every head of the machine, and never imports ray.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from server.supervisor import processes
from server.supervisor.ports import free_ports
from trainer.contracts.text_model import TextModel

logger = logging.getLogger(__name__)

HEAD_TAG = "SWELL_RAY_HEAD"
"""Environment variable that every process of a head inherits."""

# Sockets lie about 64 characters below the temporary directory, and their paths may have 107.
_LONGEST_TEMP_DIR = 40
_START_DEADLINE_S = 90.0
_START_TRIES = 3
_PORT_OPTIONS = (
    "--port",
    "--dashboard-port",
    "--dashboard-agent-listen-port",
    "--dashboard-agent-grpc-port",
    "--runtime-env-agent-port",
    "--metrics-export-port",
    "--node-manager-port",
    "--object-manager-port",
    "--ray-client-server-port",
)


class HeadRecord(TextModel):
    """What the next server has to know of a head."""

    head_id: str
    pid: int
    create_time: float
    """Seconds since 1970; with the pid it tells the process from a later one."""
    dashboard_url: str
    temp_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSettings:
    """Where a head keeps its files and what it offers."""

    home: Path
    num_cpus: int = 64
    """Logical slots: an actor asks for one, and a small machine shall not make a run wait for ever."""
    object_store_bytes: int = 512 * 1024**2


class HeadError(RuntimeError):
    """The Ray head could not be started. The message ends with the last lines of its log."""


class RayHead:
    """The one head of a SWELL_HOME."""

    def __init__(self, settings: HeadSettings) -> None:
        self._settings = settings
        self._record_path = settings.home / "ray-head.json"
        self._token_path = settings.home / "ray-token"
        self._log_path = settings.home / "logs" / "ray-head.log"
        self._child: subprocess.Popen[bytes] | None = None

    def token(self) -> str:
        """The secret that Ray asks for in every request; made at first use, readable by this user only."""
        if not self._token_path.exists():
            self._settings.home.mkdir(parents=True, exist_ok=True)
            self._token_path.touch(mode=0o600)
            self._token_path.write_text(secrets.token_hex(32))
        return self._token_path.read_text().strip()

    def environment(self) -> dict[str, str]:
        """The variables that both sides need: for Ray's token authentication, and to keep to this machine."""
        return {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self._token_path),
            # Otherwise Ray takes the machine's outward address for 127.0.0.1, and its raylet, agents and workers listen
            # to the whole network.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }

    def current(self) -> HeadRecord | None:
        """The living head of this home, or None. One that starts just now counts as living."""
        if self._child is not None:
            self._child.poll()  # Takes leave of a child that ended: a zombie would keep its pid.
        record = self.remembered()
        return record if record is not None and processes.find(record.pid, record.create_time) else None

    def remembered(self) -> HeadRecord | None:
        """The last head of this home, alive or not."""
        try:
            return HeadRecord.model_validate_json(self._record_path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            logger.warning("%s is not a record of a Ray head; it is ignored", self._record_path)
            return None

    def ensure(self, give_up: threading.Event) -> HeadRecord:
        """The living head that answers; starts one where there is none. Takes about five seconds then.

        Raises HeadError when none can be started, or when `give_up` is set while it starts.
        """
        for attempt in range(1, _START_TRIES + 1):
            record = self.current()
            if record is None:
                self.stop()
                record = self._start()
            if self._wait_until_ready(record, give_up):
                return record
            if give_up.is_set():
                raise HeadError("the server ends while its Ray head starts")
            logger.warning("Ray head %d did not come up (try %d of %d)", record.pid, attempt, _START_TRIES)
            self.stop()
        raise HeadError(f"no Ray head came up in {_START_TRIES} tries; end of {self._log_path}:\n{self._log_tail()}")

    def stop(self) -> None:
        """End the head and every process that it or its jobs started; forget it. Safe to call twice."""
        record = self.remembered()
        if record is None:
            return
        head = processes.find(record.pid, record.create_time)
        if head is not None:
            # The head ends its own processes when it is asked; it drains for a moment first.
            processes.end([head], grace_s=10.0)
        left = processes.end(processes.tagged(HEAD_TAG, record.head_id), grace_s=2.0)
        if left:
            logger.error("processes %s of Ray head %d cannot be ended", left, record.pid)
        if self._child is not None:
            self._child.poll()
        shutil.rmtree(record.temp_dir, ignore_errors=True)
        self._record_path.unlink(missing_ok=True)

    def _start(self) -> HeadRecord:
        head_id = secrets.token_hex(8)
        temp_dir = self._make_temp_dir(head_id)
        ports = free_ports(len(_PORT_OPTIONS))
        self.token()
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        with self._log_path.open("wb") as log:
            self._child = subprocess.Popen(
                self._command(temp_dir, ports),
                env=self._head_environment(head_id),
                cwd=self._settings.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        record = HeadRecord(
            head_id=head_id,
            pid=self._child.pid,
            create_time=psutil.Process(self._child.pid).create_time(),
            dashboard_url=f"http://127.0.0.1:{ports[_PORT_OPTIONS.index('--dashboard-port')]}",
            temp_dir=str(temp_dir),
        )
        partial = self._record_path.with_suffix(".partial")
        partial.write_text(record.model_dump_json(indent=2))
        partial.replace(self._record_path)
        logger.info("Ray head %d starts; its dashboard is %s", record.pid, record.dashboard_url)
        return record

    def _command(self, temp_dir: Path, ports: tuple[int, ...]) -> list[str]:
        return [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"),
            *("--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1"),
            *(f"{option}={port}" for option, port in zip(_PORT_OPTIONS, ports, strict=True)),
            *("--min-worker-port=0", "--max-worker-port=0"),
            f"--num-cpus={self._settings.num_cpus}",
            f"--object-store-memory={self._settings.object_store_bytes}",
            f"--temp-dir={temp_dir}",
        ]

    def _head_environment(self, head_id: str) -> dict[str, str]:
        # Variables of another cluster, such as RAY_ADDRESS, would make this head join it.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return inherited | self.environment() | {HEAD_TAG: head_id, "OMP_NUM_THREADS": "1"}

    def _make_temp_dir(self, head_id: str) -> Path:
        inside = self._settings.home.resolve() / "ray" / head_id[:6]
        if len(str(inside)) <= _LONGEST_TEMP_DIR:
            inside.mkdir(mode=0o700, parents=True)
            return inside
        return Path(tempfile.mkdtemp(prefix="swell-", dir="/tmp"))

    def _wait_until_ready(self, record: HeadRecord, give_up: threading.Event) -> bool:
        deadline = time.monotonic() + _START_DEADLINE_S
        headers = {"Authorization": f"Bearer {self.token()}"}
        with httpx.Client(base_url=record.dashboard_url, headers=headers, timeout=5.0, trust_env=False) as http:
            while time.monotonic() < deadline and self.current() is not None:
                if _takes_jobs(http):
                    return True
                if give_up.wait(0.2):
                    return False
        return False

    def _log_tail(self) -> str:
        try:
            return "\n".join(self._log_path.read_text(errors="replace").splitlines()[-20:])
        except FileNotFoundError:
            return "(no log)"


def _takes_jobs(http: httpx.Client) -> bool:
    try:
        return http.get("/api/jobs/").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
