import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.run_state import RunState, RunTrigger, next_state
from server.supervisor.decisions import (
    Action,
    EndProcesses,
    Fail,
    Forget,
    GiveUpPause,
    Launch,
    MarkLost,
    MarkStopped,
    StopJob,
    Submit,
    Wait,
    decide,
)
from server.supervisor.view import Deadlines, JobState, JobView, RunView

DEADLINES = Deadlines(start_s=180, heartbeat_s=30, lost_s=300, pause_s=600, stop_s=10, wind_down_s=4, job_stop_s=6)
ALIVE = JobView(state=JobState.ALIVE)
ENDED = JobView(state=JobState.ENDED, message="exit code 1")
ABSENT = JobView(state=JobState.ABSENT, message="the head is gone")
UNKNOWN = JobView(state=JobState.UNKNOWN)
LEFTOVER = JobView(state=JobState.ENDED, message="exit code 1", has_processes=True)


def run(state: RunState, job: JobView = ABSENT, **changes: object) -> RunView:
    values = {"run_id": "run_A", "name": "a", "attempt": 1, "in_state_s": 0.0, "silent_s": 0.0, **changes}
    return RunView(state=state, job=job, **values)  # type: ignore[arg-type]


LOST = MarkLost(run_id="run_A", attempt=1, reason="")
SUBMIT = Submit(run_id="run_A", attempt=1)
STOPPED = MarkStopped(run_id="run_A", attempt=1)
STOP_JOB = StopJob(job_id="run_A-1")
END = EndProcesses(job_id="run_A-1")
FORGET = Forget(job_id="run_A-1")
GO_ON = GiveUpPause(run_id="run_A", attempt=1, message="has not paused within 600 s, and goes on")


def died(reason: str) -> Fail:
    return Fail(run_id="run_A", attempt=1, reason=reason, can_restart=True)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        # Starting: a job that is not there was not submitted yet.
        (run(RunState.STARTING, ABSENT), [SUBMIT]),
        (run(RunState.STARTING, ALIVE, silent_s=100), []),
        (run(RunState.STARTING, ALIVE, silent_s=181), [LOST]),
        (run(RunState.STARTING, ENDED), [died("exit code 1")]),
        (run(RunState.STARTING, UNKNOWN, silent_s=100), []),
        # Running: the job must be there and the heartbeats must come.
        (run(RunState.RUNNING, ALIVE, silent_s=29), []),
        (run(RunState.RUNNING, ALIVE, silent_s=31), [LOST]),
        (run(RunState.RUNNING, UNKNOWN, silent_s=31), [LOST]),
        (run(RunState.RUNNING, ENDED), [died("exit code 1")]),
        (run(RunState.RUNNING, ABSENT), [died("the head is gone")]),
        # Pausing and paused: alive like one that runs, and a wish that comes too late is withdrawn.
        (run(RunState.PAUSING, ALIVE, pausing_s=599), []),
        (run(RunState.PAUSING, ALIVE, pausing_s=601), [GO_ON]),
        (run(RunState.PAUSING, ALIVE, pausing_s=601, silent_s=31), [LOST]),
        (run(RunState.PAUSED, ALIVE, in_state_s=10_000, silent_s=29), []),
        (run(RunState.PAUSED, ALIVE, silent_s=31), [LOST]),
        (run(RunState.PAUSED, ENDED), [died("exit code 1")]),
        # Lost: it may come back for a while.
        (run(RunState.LOST, ALIVE, silent_s=299), []),
        (run(RunState.LOST, ENDED, silent_s=40), [died("exit code 1")]),
        # Stopping: patience, then Ray, then the system.
        (run(RunState.STOPPING, ALIVE, stopping_s=9), []),
        (run(RunState.STOPPING, ALIVE, stopping_s=10), [STOP_JOB]),
        (run(RunState.STOPPING, ALIVE, stopping_s=17), [END]),
        (run(RunState.STOPPING, ALIVE, stopping_s=0, must_be_killed=True), [STOP_JOB]),
        (run(RunState.STOPPING, UNKNOWN, stopping_s=12), []),
        (run(RunState.STOPPING, UNKNOWN, stopping_s=17), [END]),
        (run(RunState.STOPPING, LEFTOVER, stopping_s=1), [END]),
        (run(RunState.STOPPING, ENDED, stopping_s=1), [STOPPED]),
        (run(RunState.STOPPING, ABSENT, stopping_s=1), [STOPPED]),
        # Queued again: what is left of the last attempt goes first.
        (run(RunState.QUEUED, LEFTOVER, in_state_s=1), [END]),
        (run(RunState.QUEUED, ALIVE, in_state_s=5), [STOP_JOB]),
        (run(RunState.QUEUED, ENDED), [FORGET, Launch(run_id="run_A")]),
        (run(RunState.QUEUED, ABSENT), [FORGET, Launch(run_id="run_A")]),
        # Ended: what is left of the job goes.
        (run(RunState.SUCCEEDED, ALIVE, in_state_s=3), []),
        (run(RunState.SUCCEEDED, ALIVE, in_state_s=5), [STOP_JOB]),
        (run(RunState.FAILED, ALIVE, in_state_s=11), [END]),
        (run(RunState.CANCELLED, LEFTOVER, in_state_s=1), [END]),
        (run(RunState.SUCCEEDED, ENDED), [FORGET]),
        (run(RunState.FAILED, UNKNOWN, in_state_s=3), []),
    ],
)
def test_each_situation_has_its_action(view: RunView, expected: list[Action]) -> None:
    assert [without_sentence(action) for action in decide([view], DEADLINES, max_active_runs=1)] == expected


def without_sentence(action: Action) -> Action:
    return LOST if isinstance(action, MarkLost) else action


def test_a_lost_run_that_stays_silent_fails_and_says_for_how_long() -> None:
    (action,) = decide([run(RunState.LOST, ALIVE, silent_s=301)], DEADLINES, max_active_runs=1)
    assert isinstance(action, Fail)
    assert "301 s" in action.reason


def test_a_job_that_cannot_be_started_for_too_long_fails_the_run() -> None:
    (action,) = decide([run(RunState.STARTING, ABSENT, in_state_s=181)], DEADLINES, max_active_runs=1)
    assert isinstance(action, Fail)
    assert "the head is gone" in action.reason


def test_the_oldest_queued_run_starts_and_the_others_say_what_they_wait_for() -> None:
    queue = [run(RunState.QUEUED, run_id=f"run_{name}", name=name, attempt=0) for name in "abc"]
    assert decide(queue, DEADLINES, max_active_runs=1) == [
        Launch(run_id="run_a"),
        Wait(run_id="run_b", reason="waits for a to end; this server runs 1 at a time"),
        Wait(run_id="run_c", reason="waits for a to end; this server runs 1 at a time"),
    ]


def test_who_waits_for_a_paused_run_is_told_that_it_keeps_its_place() -> None:
    paused = run(RunState.PAUSED, ALIVE, run_id="run_a", name="a")
    waiting = run(RunState.QUEUED, run_id="run_b", name="b", attempt=0)
    assert Wait(
        run_id="run_b", reason="waits for a (paused: it keeps its place) to end; this server runs 1 at a time"
    ) in decide([paused, waiting], DEADLINES, max_active_runs=1)


def test_a_run_of_higher_priority_starts_before_older_ones() -> None:
    queue = [
        run(RunState.QUEUED, run_id=f"run_{name}", name=name, attempt=0, priority=priority)
        for name, priority in (("a", 0), ("b", 2), ("c", 2), ("d", -1))
    ]
    launched = [action.run_id for action in decide(queue, DEADLINES, max_active_runs=3) if isinstance(action, Launch)]
    assert launched == ["run_b", "run_c", "run_a"]


def test_the_next_run_starts_only_when_nothing_is_left_of_the_last_one() -> None:
    queued = run(RunState.QUEUED, run_id="run_b", name="b", attempt=0)
    for job, starts in ((ALIVE, False), (LEFTOVER, False), (UNKNOWN, False), (ENDED, True)):
        actions = decide([run(RunState.CANCELLED, job), queued], DEADLINES, max_active_runs=1)
        assert (Launch(run_id="run_b") in actions) is starts


jobs = st.builds(JobView, state=st.sampled_from(JobState), has_processes=st.booleans())
seconds = st.floats(0, 1000)
views = st.builds(
    RunView,
    run_id=st.uuids().map(lambda id_: f"run_{id_.hex}"),
    name=st.just("n"),
    attempt=st.integers(1, 3),
    state=st.sampled_from(RunState),
    job=jobs,
    in_state_s=seconds,
    silent_s=seconds,
    pausing_s=seconds,
    stopping_s=seconds,
    must_be_killed=st.booleans(),
)
TRIGGERS = {
    MarkLost: RunTrigger.SILENCE,
    Fail: RunTrigger.FAIL,
    MarkStopped: RunTrigger.STOPPED,
    GiveUpPause: RunTrigger.RESUME,
}


@given(st.lists(views, max_size=6, unique_by=lambda view: view.run_id), st.integers(1, 4))
def test_decisions_hold_to_the_state_table_and_to_the_number_of_runs_at_a_time(
    runs: list[RunView], max_active_runs: int
) -> None:
    actions = decide(runs, DEADLINES, max_active_runs=max_active_runs)
    by_id = {view.run_id: view for view in runs}
    for action in actions:
        if trigger := TRIGGERS.get(type(action)):
            assert next_state(by_id[action.run_id].state, trigger) is not None  # type: ignore[union-attr]
        if isinstance(action, MarkStopped | Forget):
            owner = by_id.get(getattr(action, "run_id", "")) or by_id[action.job_id.rpartition("-")[0]]  # type: ignore[union-attr]
            assert owner.job.is_gone
    launches = [action for action in actions if isinstance(action, Launch)]
    busy = sum(view.holds_a_slot for view in runs)
    assert len(launches) + busy <= max(max_active_runs, busy)


@given(views)
def test_every_run_that_must_end_is_pushed_on_when_all_deadlines_have_passed(view: RunView) -> None:
    late = RunView(
        run_id="run_A",
        name="a",
        attempt=1,
        state=view.state,
        job=view.job,
        in_state_s=1001,
        silent_s=1001,
        pausing_s=1001,
        stopping_s=1001,
        must_be_killed=view.must_be_killed,
    )
    assert decide([late], DEADLINES, max_active_runs=1)
