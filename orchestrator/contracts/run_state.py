"""The states of a run and the only transitions between them. The server applies them as compare-and-set in SQL.

queued → starting → running ──────────────→ succeeded | failed
   │  ↑──────┴─────────┤  ⇅ lost      ↑ restart: on to the next attempt, from the last checkpoint
   │         │         │  ⇅ pausing → paused
   │         └────┬────┘
   ↓              ↓
cancelled ←── stopping
"""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    """Accepted; waits until it may start."""
    STARTING = "starting"
    """Its job is submitted; the driver has not reported yet."""
    RUNNING = "running"
    """The driver reports."""
    PAUSING = "pausing"
    """Asked to pause; the driver ends its step first."""
    PAUSED = "paused"
    """The driver waits between two steps, with all its processes."""
    STOPPING = "stopping"
    """Asked to stop; the driver ends its step, or is ended when the deadline passes."""
    LOST = "lost"
    """The job's heartbeats ended. It comes back if the same attempt reports again."""
    SUCCEEDED = "succeeded"
    """All iterations are trained and every record has arrived."""
    FAILED = "failed"
    """It ended by an error, which is kept as the run's reason."""
    CANCELLED = "cancelled"
    """It ended because somebody asked for it."""

    @property
    def is_terminal(self) -> bool:
        return self in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)

    @property
    def has_job(self) -> bool:
        """Whether a Ray job may be alive behind it."""
        return self not in (RunState.QUEUED, RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


class RunTrigger(StrEnum):
    """What makes a run change its state."""

    LAUNCH = "launch"
    """The server submits the job."""
    REPORT = "report"
    """The driver's first report, or one after silence."""
    PAUSE = "pause"
    """Somebody asks the run to wait."""
    PAUSED = "paused"
    """The driver says that it waits."""
    RESUME = "resume"
    """Somebody asks the run to go on."""
    CANCEL = "cancel"
    """Somebody asks the run to stop."""
    SILENCE = "silence"
    """No heartbeat within the deadline."""
    SUCCEED = "succeed"
    """The driver says that it is done."""
    FAIL = "fail"
    """The driver or the server says that it cannot go on."""
    RESTART = "restart"
    """A process of it died, and it may go on from its last checkpoint: it waits for its next attempt."""
    RETRY = "retry"
    """Somebody wants a run that has ended without success to go on with its next attempt."""
    STOPPED = "stopped"
    """A run that was asked to stop has no process left."""


TRANSITIONS: dict[tuple[RunState, RunTrigger], RunState] = {
    (RunState.QUEUED, RunTrigger.LAUNCH): RunState.STARTING,
    (RunState.QUEUED, RunTrigger.CANCEL): RunState.CANCELLED,
    (RunState.QUEUED, RunTrigger.FAIL): RunState.FAILED,
    (RunState.STARTING, RunTrigger.REPORT): RunState.RUNNING,
    (RunState.STARTING, RunTrigger.CANCEL): RunState.STOPPING,
    (RunState.STARTING, RunTrigger.SILENCE): RunState.LOST,
    (RunState.STARTING, RunTrigger.FAIL): RunState.FAILED,
    (RunState.STARTING, RunTrigger.RESTART): RunState.QUEUED,
    (RunState.RUNNING, RunTrigger.RESTART): RunState.QUEUED,
    (RunState.LOST, RunTrigger.RESTART): RunState.QUEUED,
    (RunState.RUNNING, RunTrigger.CANCEL): RunState.STOPPING,
    (RunState.RUNNING, RunTrigger.SILENCE): RunState.LOST,
    (RunState.RUNNING, RunTrigger.SUCCEED): RunState.SUCCEEDED,
    (RunState.RUNNING, RunTrigger.FAIL): RunState.FAILED,
    (RunState.RUNNING, RunTrigger.PAUSE): RunState.PAUSING,
    (RunState.PAUSING, RunTrigger.PAUSED): RunState.PAUSED,
    (RunState.PAUSING, RunTrigger.RESUME): RunState.RUNNING,
    (RunState.PAUSING, RunTrigger.CANCEL): RunState.STOPPING,
    (RunState.PAUSING, RunTrigger.SILENCE): RunState.LOST,
    (RunState.PAUSING, RunTrigger.RESTART): RunState.QUEUED,
    (RunState.PAUSING, RunTrigger.SUCCEED): RunState.SUCCEEDED,
    (RunState.PAUSING, RunTrigger.FAIL): RunState.FAILED,
    (RunState.PAUSED, RunTrigger.RESUME): RunState.RUNNING,
    (RunState.PAUSED, RunTrigger.CANCEL): RunState.STOPPING,
    (RunState.PAUSED, RunTrigger.SILENCE): RunState.LOST,
    (RunState.PAUSED, RunTrigger.RESTART): RunState.QUEUED,
    # A sign of life that said so came late: the driver had gone on.
    (RunState.PAUSED, RunTrigger.SUCCEED): RunState.SUCCEEDED,
    (RunState.PAUSED, RunTrigger.FAIL): RunState.FAILED,
    # Whoever asked for the pause was told that it had been lost: it goes on, and can be asked again.
    (RunState.LOST, RunTrigger.REPORT): RunState.RUNNING,
    (RunState.LOST, RunTrigger.CANCEL): RunState.STOPPING,
    (RunState.LOST, RunTrigger.SUCCEED): RunState.SUCCEEDED,
    (RunState.LOST, RunTrigger.FAIL): RunState.FAILED,
    # The run was faster than the wish to stop it: what it trained is complete, and that is what counts.
    (RunState.STOPPING, RunTrigger.SUCCEED): RunState.SUCCEEDED,
    (RunState.STOPPING, RunTrigger.STOPPED): RunState.CANCELLED,
    # An error on the way out changes nothing about why the run ended.
    (RunState.STOPPING, RunTrigger.FAIL): RunState.CANCELLED,
    (RunState.STOPPING, RunTrigger.RESTART): RunState.CANCELLED,
    (RunState.FAILED, RunTrigger.RETRY): RunState.QUEUED,
    (RunState.CANCELLED, RunTrigger.RETRY): RunState.QUEUED,
}


def next_state(state: RunState, trigger: RunTrigger) -> RunState | None:
    """The state that follows, or None when the trigger means nothing in this state."""
    return TRANSITIONS.get((state, trigger))
