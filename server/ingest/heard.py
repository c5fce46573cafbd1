"""That an attempt was heard of: kept with what it reported, told to the live stream, and answered.

Called by the ingest in the writer's thread, whatever was reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from orchestrator.contracts.messages import DesiredState, IngestAnswer
from orchestrator.contracts.run_state import RunState, RunTrigger
from server.database.writer import Transaction
from server.ingest.open_run import OpenRun, save_runs
from server.live.hub import LiveHub
from server.runs.transitions import Transition, apply_trigger


def note_heard(transaction: Transaction, hub: LiveHub, heard: Sequence[OpenRun], **of_attempt: Any) -> None:
    """Save the runs; those that were not known to run do so now. of_attempt: columns of their attempts to set."""
    # The server's own clock: the driver's may be wrong.
    save_runs(transaction.connection, heard, heard_at=now(), **of_attempt)
    for run in heard:
        if run.state in (RunState.STARTING, RunState.LOST):
            move(transaction.connection, run, RunTrigger.REPORT)
        transaction.after_commit(partial(hub.run_changed, run.id))


def move(
    connection: Connection, run: OpenRun, trigger: RunTrigger, *, reason: str | None = None, message: str | None = None
) -> None:
    """Change the run's state, if the trigger does."""
    note_move(
        run, apply_trigger(connection, run_key=run.key, trigger=trigger, now=now(), reason=reason, message=message)
    )


def note_move(run: OpenRun, transition: Transition | None) -> None:
    if transition is not None:
        run.state = transition.after


def answer(run: OpenRun, *, accepted: int, duplicates: int) -> IngestAnswer:
    """What the driver is told, with what it should do now."""
    # One that is queued again was given up, and its next attempt goes on in its place.
    is_over = run.state in (RunState.STOPPING, RunState.QUEUED) or run.state.is_terminal
    shall_wait = run.state in (RunState.PAUSING, RunState.PAUSED)
    wanted = DesiredState.STOP if is_over else DesiredState.PAUSE if shall_wait else DesiredState.RUN
    return IngestAnswer(accepted=accepted, duplicates=duplicates, desired_state=wanted)


def now() -> datetime:
    return datetime.now(UTC)
