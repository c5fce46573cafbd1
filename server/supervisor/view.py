"""What the reconciler sees at one moment, as plain values for `decisions.py`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.contracts.run_state import RunState


def job_id_of(run_id: str, attempt: int) -> str:
    """The Ray job of an attempt. Fixed, so that a repeated submit cannot start a second driver."""
    return f"{run_id}-{attempt}"


def run_id_of(job_id: str) -> str:
    return job_id.rpartition("-")[0]


class JobState(StrEnum):
    """What is known of the job behind an attempt."""

    ALIVE = "alive"
    """Ray says that it waits or runs."""
    ENDED = "ended"
    """Ray says that it is over."""
    ABSENT = "absent"
    """No living head knows it."""
    UNKNOWN = "unknown"
    """The head lives and does not answer: nothing can be concluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """The job of one attempt."""

    state: JobState
    message: str = ""
    """Why it ended or is absent, in a sentence; of a failed one with its last lines."""
    has_processes: bool = False
    """Whether any process of it is alive. Looked up only where the job itself is not alive."""

    @property
    def is_gone(self) -> bool:
        """Whether neither Ray nor the operating system has anything left of it."""
        return self.state in (JobState.ENDED, JobState.ABSENT) and not self.has_processes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run with its newest attempt. Times are seconds up to now."""

    run_id: str
    name: str
    attempt: int
    state: RunState
    job: JobView
    in_state_s: float
    silent_s: float
    """Since the driver was last heard, or since it could be heard at all (the state's or the server's beginning)."""
    pausing_s: float = 0.0
    """Since the driver could hear that it shall pause."""
    stopping_s: float = 0.0
    """Since somebody asked the run to stop."""
    must_be_killed: bool = False
    """Somebody asked for `kill`."""
    priority: int = 0
    """Among those that wait, higher ones start first."""

    @property
    def job_id(self) -> str:
        return job_id_of(self.run_id, self.attempt)

    @property
    def holds_a_slot(self) -> bool:
        """Whether it, or what is left of it, keeps the next run from starting."""
        is_between = self.state.is_terminal or (self.state is RunState.QUEUED and self.attempt > 0)
        return self.state.has_job or (is_between and not self.job.is_gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long each thing may take, in seconds."""

    start_s: float
    """From the launch to the driver's first report."""
    heartbeat_s: float
    """Between two heartbeats."""
    lost_s: float
    """For a lost run to come back."""
    pause_s: float
    """For a driver to pause after it was asked to."""
    stop_s: float
    """For a driver to end by itself after it was asked to."""
    wind_down_s: float = 4.0
    """For a driver to end its processes after its last report."""
    job_stop_s: float = 6.0
    """For Ray to end a job; it kills the driver after three seconds."""
