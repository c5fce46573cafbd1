"""What is to be done about an external run, given how long it has been silent or asked for something. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.contracts.run_state import RunState, RunTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalDeadlines:
    """How long each thing may take, in seconds."""

    silence_s: float
    """Between two reports of a writer: of steps, or of being alive."""
    pause_s: float
    """For a writer to pause after it was asked to."""
    stop_s: float
    """For a writer to end after it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalView:
    """One external run. Times are seconds up to now."""

    state: RunState
    silent_s: float
    """Since its writer was last heard, or could be heard at all."""
    pausing_s: float
    stopping_s: float
    must_be_killed: bool
    """Somebody asked for `kill`: nothing can be killed from here, so that nothing is waited for either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of state that is due."""

    trigger: RunTrigger
    reason: str | None = None
    message: str | None = None
    """What the event says, where nothing is kept as the run's reason."""


def decide(run: ExternalView, deadlines: ExternalDeadlines) -> Change | None:
    """The change that is due, or None. A run that is lost stays so: its writer may come back whenever it likes."""
    match run.state:
        case RunState.STOPPING:
            if run.must_be_killed or run.stopping_s > deadlines.stop_s:
                return Change(trigger=RunTrigger.STOPPED, message="counts as ended; its writer may go on unrecorded")
        case RunState.STARTING | RunState.RUNNING | RunState.PAUSING | RunState.PAUSED:
            if run.silent_s > deadlines.silence_s:
                return Change(trigger=RunTrigger.SILENCE, reason=f"Its writer was not heard for {run.silent_s:.0f} s.")
            if run.state is RunState.PAUSING and run.pausing_s > deadlines.pause_s:
                message = f"has not paused within {deadlines.pause_s:.0f} s, and goes on"
                return Change(trigger=RunTrigger.RESUME, message=message)
        case _:
            pass
    return None
