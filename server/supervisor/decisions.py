"""What is to be done about the runs, given what is seen of them. Pure: the reconciler builds the view and acts.

Every decision may be taken again before its action shows: all actions are idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.contracts.run_state import RunState
from server.supervisor.view import Deadlines, JobState, RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Make the next attempt of a queued run and submit its job."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """Submit the job of an attempt once more: the server that made the attempt ended before it had done so."""

    run_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Say what a queued run waits for."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkLost:
    """No heartbeat came in time."""

    run_id: str
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUpPause:
    """The driver has not paused in time: let the run go on, and say so."""

    run_id: str
    attempt: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The attempt cannot go on."""

    run_id: str
    attempt: int
    reason: str
    can_restart: bool = False
    """Whether the run may go on in another attempt: something died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkStopped:
    """A run that was asked to stop has no process left."""

    run_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopJob:
    """Ask Ray to end a job."""

    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndProcesses:
    """Kill every process of a job that is left, by pid."""

    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Nothing is left of a job: stop asking for it."""

    job_id: str


Action: TypeAlias = (
    Launch | Submit | Wait | MarkLost | GiveUpPause | Fail | MarkStopped | StopJob | EndProcesses | Forget
)


def decide(runs: Sequence[RunView], deadlines: Deadlines, *, max_active_runs: int) -> list[Action]:
    """What to do now, in this order.

    runs: all that have not ended, oldest first, and ended ones whose job is not known to be gone.
    """
    actions = [action for run in runs for action in _decide_run(run, deadlines)]
    return [*actions, *_decide_queue(runs, max_active_runs)]


def _decide_run(run: RunView, deadlines: Deadlines) -> list[Action]:
    match run.state:
        case RunState.QUEUED:
            return _clear_away(run, deadlines) if run.attempt else []
        case RunState.STARTING:
            return _decide_starting(run, deadlines)
        case RunState.RUNNING | RunState.PAUSING | RunState.PAUSED:
            return _decide_running(run, deadlines)
        case RunState.LOST:
            return _decide_lost(run, deadlines)
        case RunState.STOPPING:
            return _decide_stopping(run, deadlines)
        case RunState.SUCCEEDED | RunState.FAILED | RunState.CANCELLED:
            return _clear_away(run, deadlines)


def _decide_starting(run: RunView, deadlines: Deadlines) -> list[Action]:
    if run.job.state is JobState.ABSENT:
        if run.in_state_s <= deadlines.start_s:
            return [Submit(run_id=run.run_id, attempt=run.attempt)]
        return [_fail(run, f"No job could be started within {deadlines.start_s:.0f} s. {run.job.message}")]
    if run.job.state is JobState.ENDED:
        return [_died(run, run.job.message)]
    if run.silent_s > deadlines.start_s:
        return [_lost(run, f"The driver has not reported within {deadlines.start_s:.0f} s of its start.")]
    return []


def _decide_running(run: RunView, deadlines: Deadlines) -> list[Action]:
    if run.job.state in (JobState.ABSENT, JobState.ENDED):
        # A driver ends after its last report has arrived. This run is still running: there was no such report.
        return [_died(run, run.job.message)]
    if run.silent_s > deadlines.heartbeat_s:
        return [_lost(run, f"No heartbeat for {run.silent_s:.0f} s.")]
    if run.state is RunState.PAUSING and run.pausing_s > deadlines.pause_s:
        message = f"has not paused within {deadlines.pause_s:.0f} s, and goes on"
        return [GiveUpPause(run_id=run.run_id, attempt=run.attempt, message=message)]
    return []


def _decide_lost(run: RunView, deadlines: Deadlines) -> list[Action]:
    if run.job.state in (JobState.ABSENT, JobState.ENDED):
        return [_died(run, run.job.message)]
    if run.silent_s > deadlines.lost_s:
        # What is left of the job is cleared away like that of every ended run.
        return [_died(run, f"The driver has been silent for {run.silent_s:.0f} s and was given up.")]
    return []


def _decide_stopping(run: RunView, deadlines: Deadlines) -> list[Action]:
    if run.job.is_gone:
        return [MarkStopped(run_id=run.run_id, attempt=run.attempt)]
    patience_s = 0.0 if run.must_be_killed else deadlines.stop_s
    return _end_job(run, asked_s=run.stopping_s, patience_s=patience_s, deadlines=deadlines)


def _clear_away(run: RunView, deadlines: Deadlines) -> list[Action]:
    if run.job.is_gone:
        return [Forget(job_id=run.job_id)]
    return _end_job(run, asked_s=run.in_state_s, patience_s=deadlines.wind_down_s, deadlines=deadlines)


def _end_job(run: RunView, *, asked_s: float, patience_s: float, deadlines: Deadlines) -> list[Action]:
    """Wait, then ask Ray, then kill what is left."""
    if run.job.state in (JobState.ENDED, JobState.ABSENT) or asked_s > patience_s + deadlines.job_stop_s:
        return [EndProcesses(job_id=run.job_id)]
    if run.job.state is JobState.ALIVE and asked_s >= patience_s:
        return [StopJob(job_id=run.job_id)]
    return []


def _decide_queue(runs: Sequence[RunView], max_active_runs: int) -> list[Action]:
    # A run that begins again first waits until nothing is left of its last attempt.
    queued = [run for run in runs if run.state is RunState.QUEUED and not run.holds_a_slot]
    queued.sort(key=lambda run: -run.priority)
    busy = [run for run in runs if run.holds_a_slot]
    free = max(0, max_active_runs - len(busy))
    ahead = [_who_is_ahead(run) for run in (*busy, *queued[:free])]
    reason = f"waits for {', '.join(ahead)} to end; this server runs {max_active_runs} at a time"
    return [
        *(Launch(run_id=run.run_id) for run in queued[:free]),
        *(Wait(run_id=run.run_id, reason=reason) for run in queued[free:]),
    ]


def _who_is_ahead(run: RunView) -> str:
    # Its processes are there: who wants its place has to know that time alone does not free it.
    return f"{run.name} (paused: it keeps its place)" if run.state is RunState.PAUSED else run.name


def _fail(run: RunView, reason: str) -> Fail:
    return Fail(run_id=run.run_id, attempt=run.attempt, reason=reason)


def _died(run: RunView, reason: str) -> Fail:
    return Fail(run_id=run.run_id, attempt=run.attempt, reason=reason, can_restart=True)


def _lost(run: RunView, reason: str) -> MarkLost:
    return MarkLost(run_id=run.run_id, attempt=run.attempt, reason=reason)
