import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.contracts.messages import AttemptLaunch
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState, RunTrigger, next_state
from server.errors import NotFoundError
from server.runs.records import LaunchedAttempt, RunRecord
from server.supervisor.jobs import JobError
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


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_queued_run_gets_a_job_that_knows_all_it_needs(world: World) -> None:
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING
    launch = world.cluster.launches["run_A-1"]
    assert (launch.run_id, launch.attempt, launch.ingest_token) == ("run_A", 1, "secret")
    assert launch.spec == SPEC
    assert world.runs.jobs["run_A", 1] == "run_A-1"


def test_runs_follow_one_another(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.rounds()
    assert world.runs.state("run_B") is RunState.QUEUED
    assert world.runs.reasons["run_B"] == "waits for run_A to end; this server runs 1 at a time"
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.rounds()
    assert world.runs.state("run_B") is RunState.QUEUED, "the driver of run_A is still there"
    world.cluster.end("run_A-1")
    world.rounds(2)
    assert world.runs.state("run_B") is RunState.STARTING


def test_a_driver_that_dies_fails_its_run_with_its_last_words(world: World) -> None:
    world.running("run_A")
    world.cluster.end("run_A-1", "exit code 1: no wood", has_processes=True)
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    assert world.runs.reasons["run_A"] == "exit code 1: no wood"
    world.rounds()
    assert not world.cluster.jobs["run_A-1"].has_processes


def test_a_run_that_is_deleted_as_soon_as_it_ended_leaves_no_process_and_stops_nobody(world: World) -> None:
    world.runs.add("run_A")
    world.runs.add("run_B")
    world.rounds(1)
    world.cluster.end("run_A-1", "exit code 1", has_processes=True)
    del world.runs.records["run_A"]
    world.rounds(2)
    assert not world.cluster.jobs["run_A-1"].has_processes
    assert world.runs.state("run_B") is RunState.STARTING


def test_a_run_that_may_restart_goes_on_when_nothing_is_left_of_its_last_attempt(world: World) -> None:
    world.runs.max_restarts = 1
    world.running("run_A")
    world.cluster.end("run_A-1", "killed", has_processes=True)
    world.rounds(1)
    assert world.runs.state("run_A") is RunState.QUEUED
    world.rounds(2)
    assert not world.cluster.jobs["run_A-1"].has_processes
    assert world.runs.state("run_A") is RunState.STARTING
    assert world.runs.jobs["run_A", 2] == "run_A-2"
    world.runs.heartbeat("run_A")
    world.cluster.end("run_A-2", "killed again")
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED


def test_silence_loses_a_run_and_its_next_heartbeat_brings_it_back(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST
    world.runs.heartbeat("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING


def test_a_run_that_stays_lost_fails_and_its_job_is_cleared_away(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(31)
    world.rounds()
    world.clock.pass_s(280)
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    world.clock.pass_s(5)
    world.rounds()
    assert world.cluster.alive_jobs() == []


def test_a_graceful_stop_waits_for_the_driver_then_stops_the_job_then_kills_what_is_left(world: World) -> None:
    world.cluster.ignores_stop = True
    world.running("run_A")
    world.runs.cancel("run_A")
    world.clock.pass_s(9)
    world.rounds()
    assert world.cluster.alive_jobs() == ["run_A-1"]
    world.clock.pass_s(2)
    world.rounds()
    assert world.runs.state("run_A") is RunState.STOPPING, "Ray did not end it"
    world.clock.pass_s(6)
    world.rounds(2)
    assert world.runs.state("run_A") is RunState.CANCELLED
    assert world.cluster.alive_jobs() == []


def test_a_kill_stops_the_job_at_once(world: World) -> None:
    world.running("run_A")
    world.runs.cancel("run_A", "kill")
    world.rounds(2)
    assert world.runs.state("run_A") is RunState.CANCELLED


def test_a_run_that_is_stopped_before_its_job_was_there_ends(world: World) -> None:
    world.cluster.refuse = JobError("Ray is busy")
    world.runs.add("run_A")
    world.rounds()
    world.runs.cancel("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.CANCELLED


def test_a_server_that_comes_back_adopts_a_run_and_does_not_blame_it_for_the_silence(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(3600)
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING
    assert len(world.cluster.launches) == 1
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST


def test_a_server_that_comes_back_clears_away_the_job_of_a_run_that_ended_meanwhile(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.clock.pass_s(60)
    world.server = world.new_server()
    world.rounds()
    assert world.cluster.alive_jobs() == []


def test_a_head_that_died_fails_its_runs(world: World) -> None:
    world.running("run_A")
    world.cluster.jobs.clear()
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED


def test_an_attempt_whose_job_was_not_submitted_is_submitted_by_the_next_server(world: World) -> None:
    world.cluster.refuse = JobError("Ray is busy")
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING
    world.cluster.refuse = None
    world.server = world.new_server()
    world.rounds()
    assert world.cluster.launches["run_A-1"].ingest_token == "secret"


def test_an_attempt_of_which_nothing_was_kept_fails_and_says_what_to_do(world: World) -> None:
    world.runs.add("run_A")
    world.runs.launch("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    assert "Submit the run again" in (world.runs.reasons["run_A"] or "")


def test_a_run_waits_for_a_head_that_does_not_start_and_says_so(world: World) -> None:
    world.cluster.refuse = HeadError("no Ray head came up")
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.QUEUED
    assert world.runs.reasons["run_A"] == "waits for Ray: no Ray head came up"
    world.cluster.refuse = None
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING


def test_a_run_whose_turn_it_is_waits_for_nobody_while_ray_starts(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.rounds()
    assert world.runs.reasons["run_B"] == "waits for run_A to end; this server runs 1 at a time"
    told: list[str | None] = []
    world.cluster.on_prepare = lambda: told.append(world.runs.reasons["run_B"])
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.cluster.end("run_A-1")
    world.rounds(2)
    assert (told, world.runs.state("run_B")) == ([None], RunState.STARTING)


def test_a_run_says_that_it_waits_for_ray_until_ray_is_there(world: World) -> None:
    world.cluster.refuse = HeadError("no Ray head came up")
    world.runs.add("run_A")
    world.rounds()
    told: list[str | None] = []
    world.cluster.on_prepare = lambda: told.append(world.runs.reasons["run_A"])
    world.rounds(2)
    assert told == ["waits for Ray: no Ray head came up"] * 2


def test_jobs_of_others_are_left_alone(world: World) -> None:
    world.cluster.jobs["somebody-else-7"] = JobView(state=JobState.ALIVE)
    world.server = world.new_server()
    world.clock.pass_s(1000)
    world.rounds(3)
    assert world.cluster.alive_jobs() == ["somebody-else-7"]


def test_the_thread_works_when_it_is_woken_and_ends_when_it_is_told(world: World) -> None:
    world.server = world.new_server()
    world.server.start()
    world.runs.add("run_A")
    world.server.wake()
    wait = threading.Event()
    for _ in range(100):
        if "run_A-1" in world.cluster.launches:
            break
        wait.wait(0.05)
    world.server.stop()
    assert "run_A-1" in world.cluster.launches


def test_a_pause_that_no_step_gives_way_to_is_withdrawn_and_may_be_asked_for_again(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    for _ in range(22):
        world.clock.pass_s(29)
        world.runs.heartbeat("run_A")
        world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING
    assert world.runs.messages["run_A"] == "has not paused within 600 s, and goes on"
    assert world.runs.reasons["run_A"] is None


def test_a_driver_that_could_not_hear_of_a_pause_has_its_whole_time(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    world.clock.pass_s(3600)
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.PAUSING


def test_a_paused_run_stays_so_while_its_driver_is_heard_and_the_next_run_waits(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    world.runs.apply("run_A", RunTrigger.PAUSED)
    for _ in range(200):
        world.clock.pass_s(29)
        world.runs.heartbeat("run_A")
        world.rounds()
    assert (world.runs.state("run_A"), world.runs.state("run_B")) == (RunState.PAUSED, RunState.QUEUED)
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST
