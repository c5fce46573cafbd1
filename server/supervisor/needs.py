"""What the supervisor needs of the server: the runs in the database, and the place where jobs run.

Used by the reconciler and what it is made of; it never knows who implements them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.runs.records import LaunchedAttempt, RunRecord
from server.runs.supervisor_port import RayState
from server.supervisor.view import JobView


class Runs(Protocol):
    """The runs in the database: `server.runs.service.RunStore`."""

    def runs_in(self, states: Iterable[RunState]) -> tuple[RunRecord, ...]: ...

    def run(self, run_id: str) -> RunRecord: ...

    def launch(self, run_id: str) -> LaunchedAttempt | None: ...

    def apply(
        self,
        run_id: str,
        trigger: RunTrigger,
        *,
        reason: str | None = None,
        message: str | None = None,
        attempt: int | None = None,
    ) -> RunState | None: ...

    def fail_or_restart(self, run_id: str, *, reason: str, attempt: int) -> RunState | None: ...

    def set_job(self, run_id: str, attempt: int, job_id: str) -> None: ...

    def set_reason(self, run_id: str, reason: str | None) -> None: ...


class Cluster(Protocol):
    """Where jobs run: `server.supervisor.cluster.LocalCluster`."""

    def clear_remains(self) -> None: ...

    def prepare(self, give_up: threading.Event) -> None: ...

    def submit(self, job_id: str, launch_json: str, give_up: threading.Event) -> None: ...

    def look(self, job_id: str) -> JobView: ...

    def alive_jobs(self) -> list[str]: ...

    def ray_state(self) -> RayState: ...

    def stop_job(self, job_id: str) -> None: ...

    def end_processes(self, job_id: str) -> None: ...
