"""The thread that keeps runs and jobs in step: look, decide, act, wait; also at the start of a server.

    runs in the database ─┐
                          ├─► view ─► decisions.decide ─► action runner ─► database, Ray head, jobs
    jobs, processes ──────┘

Started and ended by the app. It is the only code that launches, loses, fails or clears away a run by itself; endpoints
only write what they want and wake it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.contracts.run_state import RunState
from server.errors import NotFoundError
from server.runs.records import RunRecord
from server.runs.supervisor_port import RayState
from server.supervisor import decisions
from server.supervisor.action_runner import ActionRunner
from server.supervisor.launch_files import read_launch
from server.supervisor.needs import Cluster, Runs
from server.supervisor.view import Deadlines, JobState, JobView, RunView, job_id_of, run_id_of

logger = logging.getLogger(__name__)

_ROUND_S = 0.5
"""Between two looks while there are runs to watch."""
_IDLE_ROUND_S = 5.0
_RETRY_S = 5.0
"""After a round that failed."""
_UNFINISHED = [state for state in RunState if not state.is_terminal]


class Reconciler:
    """One per server."""

    def __init__(
        self,
        *,
        runs: Runs,
        cluster: Cluster,
        deadlines: Deadlines,
        max_active_runs: int,
        server_url: str,
        run_dir: Callable[[str], Path],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._runs = runs
        self._cluster = cluster
        self._deadlines = deadlines
        self._max_active_runs = max_active_runs
        self._server_url = server_url
        self._run_dir = run_dir
        self._now = now
        self._started_at = now()
        self._open_jobs: set[str] = set()
        """Jobs of which something may be alive."""
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._action_runner = ActionRunner(
            runs=runs,
            cluster=cluster,
            server_url=server_url,
            run_dir=run_dir,
            open_jobs=self._open_jobs,
            stop=self._stop,
            wake=self._wake,
        )
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work in a thread of its own."""
        self._thread = threading.Thread(target=self._work, name="reconciler", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the runs now. Safe from any thread; never blocks."""
        self._wake.set()

    def ray_state(self) -> RayState:
        """Ask the cluster now. Safe from any thread."""
        return self._cluster.ray_state()

    def stop(self) -> None:
        """Leave the jobs as they are and end the thread, within two seconds."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def adopt(self) -> None:
        """Learn what an earlier server has left: its jobs go on, and what is left of a dead head is ended."""
        self._cluster.clear_remains()
        self._open_jobs.update(job for job in self._cluster.alive_jobs() if self._is_ours(job))
        for run in self._runs.runs_in(_UNFINISHED):
            if run.attempt > 0:
                self._open_jobs.add(job_id_of(run.id, run.attempt))
                self._check_address(run)

    def _check_address(self, run: RunRecord) -> None:
        launch = read_launch(self._run_dir(run.id), run.attempt)
        if launch is not None and launch.server_url != self._server_url:
            logger.warning(
                "run %s reports to %s, and this server is at %s: it will count as lost; serve at its address",
                run.id,
                launch.server_url,
                self._server_url,
            )

    def reconcile(self) -> None:
        """One round: look, decide, act."""
        for action in decisions.decide(self._look(), self._deadlines, max_active_runs=self._max_active_runs):
            if self._stop.is_set():
                return
            self._action_runner.run(action)

    def _work(self) -> None:
        pause_s = 0.0
        adopted = False
        while not self._stop.is_set():
            self._wake.wait(timeout=pause_s)
            self._wake.clear()
            try:
                if not adopted:
                    self.adopt()
                    adopted = True
                self.reconcile()
                pause_s = _ROUND_S if self._open_jobs else _IDLE_ROUND_S
            except Exception:
                # A full disk or a database that is away must not end the watch over the runs.
                logger.exception("a round of the reconciler failed; the next one is in %.0f s", _RETRY_S)
                pause_s = _RETRY_S

    def _look(self) -> list[RunView]:
        # Jobs first: a driver reports before its job ends, so a job that has ended and a run that was read later and
        # still runs mean that there was no report.
        jobs = {job_id: self._cluster.look(job_id) for job_id in sorted(self._open_jobs)}
        unfinished = self._runs.runs_in(_UNFINISHED)
        known = {job_id_of(run.id, run.attempt) for run in unfinished}
        ended = [run for job_id in jobs if job_id not in known for run in self._ended(job_id)]
        return [self._view(run, jobs) for run in (*unfinished, *ended)]

    def _ended(self, job_id: str) -> list[RunRecord]:
        try:
            return [self._runs.run(run_id_of(job_id))]
        except NotFoundError:
            # Somebody deleted the run as soon as it had ended.
            self._cluster.end_processes(job_id)
            self._open_jobs.discard(job_id)
            return []

    def _view(self, run: RunRecord, jobs: dict[str, JobView]) -> RunView:
        absent = JobView(state=JobState.ABSENT, message="It was never submitted.")
        return RunView(
            run_id=run.id,
            name=run.name,
            attempt=run.attempt,
            state=run.state,
            job=jobs.get(job_id_of(run.id, run.attempt), absent),
            in_state_s=self._since(run.state_changed_at),
            silent_s=self._heard_s(run.last_heartbeat_at or run.state_changed_at),
            pausing_s=self._heard_s(run.state_changed_at),
            stopping_s=self._since(run.stop_requested_at) if run.stop_requested_at else 0.0,
            must_be_killed=run.stop_mode == "kill",
            priority=run.priority,
        )

    def _heard_s(self, moment: datetime) -> float:
        """As `_since`; a driver could neither speak nor hear while no server was there."""
        return min(self._since(moment), self._since(self._started_at))

    def _since(self, moment: datetime) -> float:
        return max(0.0, (self._now() - moment).total_seconds())

    def _is_ours(self, job_id: str) -> bool:
        try:
            return self._runs.run(run_id_of(job_id)).id == run_id_of(job_id)
        except NotFoundError:
            return False
