"""A reconciler in a world of runs and jobs in memory, with a clock that tests move."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.contracts.messages import AttemptLaunch
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState, RunTrigger, next_state
from server.errors import NotFoundError
from server.runs.records import LaunchedAttempt, RunRecord
from server.runs.supervisor_port import RayState
from server.supervisor.ray_head import HeadError
from server.supervisor.reconciler import Reconciler
from server.supervisor.view import Deadlines, JobState, JobView

DEADLINES = Deadlines(start_s=180, heartbeat_s=30, lost_s=300, pause_s=600, stop_s=10)
SPEC = RunSpec.model_validate(
    {
        "name": "tiny",
        "iterations": 2,
        "model": {
            "type": "scratch",
            "num_layers": 1,
            "hidden_size": 16,
            "num_attention_heads": 2,
            "num_query_groups": 1,
            "ffn_hidden_size": 32,
        },
        "data": {"type": "reasoning_gym", "tasks": [{"name": "gcd"}], "rollout_batch_size": 4},
        "rollout": {"group_size": 2, "max_new_tokens": 8},
        "reward": [{"type": "reasoning_gym"}],
        "batch": {"type": "all"},
        "schedule": {"token_cap": 512},
        "optimizer": {"lr": 0.001},
    }
)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class FakeRuns:
    """Runs in memory, with the real table of transitions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.records: dict[str, RunRecord] = {}
        self.reasons: dict[str, str | None] = {}
        self.messages: dict[str, str | None] = {}
        self.jobs: dict[tuple[str, int], str] = {}
        self.max_restarts = 0

    def add(self, run_id: str) -> None:
        self.records[run_id] = RunRecord(
            id=run_id,
            name=run_id,
            state=RunState.QUEUED,
            attempt=0,
            created_at=self._clock.now,
            state_changed_at=self._clock.now,
            last_heartbeat_at=None,
            stop_mode=None,
            stop_requested_at=None,
        )

    def heartbeat(self, run_id: str) -> None:
        self.apply(run_id, RunTrigger.REPORT)
        self._change(run_id, last_heartbeat_at=self._clock.now)

    def cancel(self, run_id: str, mode: str = "graceful") -> None:
        self._change(run_id, stop_mode=mode, stop_requested_at=self._clock.now)
        self.apply(run_id, RunTrigger.CANCEL)

    def state(self, run_id: str) -> RunState:
        return self.records[run_id].state

    def runs_in(self, states: Iterable[RunState]) -> tuple[RunRecord, ...]:
        return tuple(run for run in self.records.values() if run.state in states)

    def run(self, run_id: str) -> RunRecord:
        if run_id not in self.records:
            raise NotFoundError(run_id)
        return self.records[run_id]

    def launch(self, run_id: str) -> LaunchedAttempt | None:
        if self.state(run_id) is not RunState.QUEUED:
            return None
        self.apply(run_id, RunTrigger.LAUNCH)
        self._change(run_id, attempt=self.records[run_id].attempt + 1)
        return LaunchedAttempt(run_id=run_id, number=self.records[run_id].attempt, spec=SPEC, ingest_token="secret")

    def apply(
        self,
        run_id: str,
        trigger: RunTrigger,
        *,
        reason: str | None = None,
        message: str | None = None,
        attempt: int | None = None,
    ) -> RunState | None:
        run = self.records[run_id]
        after = next_state(run.state, trigger)
        if after is None or attempt not in (None, run.attempt):
            return None
        self._change(run_id, state=after, state_changed_at=self._clock.now)
        self.reasons[run_id] = reason
        self.messages[run_id] = message
        return after

    def fail_or_restart(self, run_id: str, *, reason: str, attempt: int) -> RunState | None:
        may_restart = self.records[run_id].attempt <= self.max_restarts
        trigger = RunTrigger.RESTART if may_restart else RunTrigger.FAIL
        return self.apply(run_id, trigger, reason=reason, attempt=attempt)

    def set_job(self, run_id: str, attempt: int, job_id: str) -> None:
        self.jobs[run_id, attempt] = job_id

    def set_reason(self, run_id: str, reason: str | None) -> None:
        self.reasons[run_id] = reason

    def _change(self, run_id: str, **values: object) -> None:
        self.records[run_id] = replace(self.records[run_id], **values)  # type: ignore[arg-type]


class FakeCluster:
    """Jobs in memory."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobView] = {}
        self.launches: dict[str, AttemptLaunch] = {}
        self.refuse: Exception | None = None
        self.ignores_stop = False
        self.cleared = 0
        self.on_prepare: Callable[[], None] = lambda: None

    def clear_remains(self) -> None:
        self.cleared += 1

    def prepare(self, give_up: threading.Event) -> None:
        self.on_prepare()
        if isinstance(self.refuse, HeadError):
            raise self.refuse

    def submit(self, job_id: str, launch_json: str, give_up: threading.Event) -> None:
        if self.refuse:
            raise self.refuse
        self.jobs.setdefault(job_id, JobView(state=JobState.ALIVE))
        self.launches[job_id] = AttemptLaunch.model_validate_json(launch_json)

    def look(self, job_id: str) -> JobView:
        return self.jobs.get(job_id, JobView(state=JobState.ABSENT, message="unknown"))

    def alive_jobs(self) -> list[str]:
        return [job_id for job_id, job in self.jobs.items() if job.state is JobState.ALIVE]

    def ray_state(self) -> RayState:
        return RayState.ANSWERS

    def stop_job(self, job_id: str) -> None:
        if not self.ignores_stop:
            self.end(job_id)

    def end_processes(self, job_id: str) -> None:
        self.end(job_id)

    def end(self, job_id: str, message: str = "ended", *, has_processes: bool = False) -> None:
        self.jobs[job_id] = JobView(state=JobState.ENDED, message=message, has_processes=has_processes)


class World:
    def __init__(self, run_dir: Path) -> None:
        self.clock = Clock()
        self.runs = FakeRuns(self.clock)
        self.cluster = FakeCluster()
        self.run_dir = run_dir
        self.server = self.new_server()

    def new_server(self) -> Reconciler:
        server = Reconciler(
            runs=self.runs,
            cluster=self.cluster,
            deadlines=DEADLINES,
            max_active_runs=1,
            server_url="http://127.0.0.1:8642",
            run_dir=lambda run_id: self.run_dir / run_id,
            now=lambda: self.clock.now,
        )
        server.adopt()
        return server

    def rounds(self, count: int = 1) -> None:
        for _ in range(count):
            self.server.reconcile()

    def running(self, run_id: str) -> None:
        self.runs.add(run_id)
        self.rounds()
        self.runs.heartbeat(run_id)
