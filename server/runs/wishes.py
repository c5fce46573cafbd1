"""What people wish of a run that is there: pause, go on, stop, try again, be deleted. Used by the endpoints.

Each wish is one transaction with its event. The supervisor, or the driver by its next answer, carries it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, select, update

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.database.tables import runs
from server.database.writer import Transaction, Writer
from server.errors import ConflictError, InvalidError
from server.runs import queries
from server.runs.known_checkpoints import kept_steps
from server.runs.records import RunKind, RunRecord
from server.runs.transitions import add_event, apply_trigger
from server.runs.version import check_version

_MAX_NAMED = 100
"""Checkpoints that a refusal names: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A run that was just hidden."""

    run_id: str
    restorable_until: datetime


class RunWishes:
    """Safe from any thread; each call is one transaction. All raise NotFoundError."""

    def __init__(self, writer: Writer, on_change: Callable[[str], None], *, delete_grace: timedelta) -> None:
        """on_change is called with the run's id after each commit that changed the run.

        delete_grace: for so long a deletion can be taken back.
        """
        self._writer = writer
        self._on_change = on_change
        self._delete_grace = delete_grace

    def pause(self, run: str, *, by: str) -> None:
        """Let a run wait after its present step; again is harmless. Raises ConflictError where it cannot."""

        def refusal(found: RunRecord) -> str:
            return f"The run is {found.state}; only one that is running can be paused."

        waits = (RunState.PAUSING, RunState.PAUSED)
        self._wish(run, RunTrigger.PAUSE, f"{by} asked to pause", waits, ("not-pausable", refusal))

    def resume(self, run: str, *, by: str) -> None:
        """Let a run that waits, or is about to, go on; again is harmless. Raises ConflictError where it does not."""

        def refusal(found: RunRecord) -> str:
            return f"The run is {found.state}; only one that is paused can be resumed."

        self._wish(run, RunTrigger.RESUME, f"{by} asked to go on", (RunState.RUNNING,), ("not-paused", refusal))

    def cancel(self, run: str, mode: Literal["graceful", "kill"]) -> RunState:
        """Ask a run to stop. A second call may turn `graceful` into `kill`. Raises ConflictError when it has ended."""

        def work(transaction: Transaction) -> RunState:
            connection, now = transaction.connection, _now()
            found = queries.run_record(connection, run)
            if found.state.is_terminal:
                raise ConflictError("run-ended", f"The run is {found.state} and cannot be cancelled.")
            connection.execute(
                update(runs)
                .where(runs.c.id == found.id)
                .values(stop_mode=mode, stop_requested_at=found.stop_requested_at or now, version=runs.c.version + 1)
            )
            transition = apply_trigger(
                connection,
                run_key=queries.run_key(connection, found.id),
                trigger=RunTrigger.CANCEL,
                now=now,
                message=f"asked to stop ({mode})",
            )
            transaction.after_commit(lambda: self._on_change(found.id))
            return transition.after if transition else found.state

        return self._writer.run(work)

    def retry(self, run: str, *, by: str, from_step: int | None = None) -> None:
        """Let a run that ended without success go on with its next attempt.

        from_step: of the checkpoint to go on from; None: the newest. Raises ConflictError when the run has not ended
        so, or InvalidError when there is no such checkpoint.
        """

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            found = queries.run_record(connection, run)
            if found.kind is RunKind.EXTERNAL:
                message = "Another framework runs this run; begin its next attempt with POST …/attempts."
                raise ConflictError("external-run", message)
            key = queries.run_key(connection, found.id)
            _check_checkpoint(connection, key, from_step)
            where = "" if from_step is None else f" from step {from_step}"
            message = f"{by} asked for another try{where}"
            transition = apply_trigger(connection, run_key=key, trigger=RunTrigger.RETRY, now=_now(), message=message)
            if transition is None:
                message = f"The run is {found.state}; only one that failed or was cancelled can be tried again."
                raise ConflictError("not-retryable", message)
            begun_anew = {
                "stop_mode": None,
                "stop_requested_at": None,
                "archived_at": None,
                "resume_step": from_step,
            }
            connection.execute(
                update(runs).where(runs.c.key == key).values(attempts_before_retry=found.attempt, **begun_anew)
            )
            transaction.after_commit(lambda: self._on_change(found.id))

        self._writer.run(work)

    def delete(self, run: str, *, by: str, version: int | None) -> Deletion:
        """Hide a run that has ended; its rows are removed after a time in which it can be restored.

        version: of the run as the caller read it. Raises StaleVersionError, or ConflictError when it has not ended.
        """

        def work(transaction: Transaction) -> Deletion:
            connection = transaction.connection
            row = connection.execute(select(runs).where(runs.c.key == queries.run_key(connection, run))).one()
            check_version(row.version, version)
            if not RunState(row.state).is_terminal:
                raise ConflictError("run-active", f"The run is {row.state}; cancel it before it is deleted.")
            now = _now()
            connection.execute(
                update(runs).where(runs.c.key == row.key).values(deleted_at=now, version=row.version + 1)
            )
            _tell(connection, row.key, "run.deleted", f"{by} deleted it", now)
            return Deletion(run_id=row.id, restorable_until=now + self._delete_grace)

        return self._writer.run(work)

    def restore(self, run: str, *, by: str) -> str:
        """Take a deletion back, and return the run's id. Raises ConflictError when it is too late, or was not deleted.

        run: the id, or the name of the newest run that was deleted with it.
        """

        def work(transaction: Transaction) -> str:
            connection, now = transaction.connection, _now()
            row = queries.deleted_run(connection, run)
            if row.removal_began_at is not None or row.deleted_at + self._delete_grace <= now:
                raise ConflictError("restore-too-late", "The records of the run are being removed already.")
            values = {"deleted_at": None, "version": row.version + 1}
            connection.execute(update(runs).where(runs.c.key == row.key).values(values))
            _tell(connection, row.key, "run.restored", f"{by} took its deletion back", now)
            transaction.after_commit(lambda: self._on_change(row.id))
            return str(row.id)

        return self._writer.run(work)

    def _wish(
        self,
        run: str,
        trigger: RunTrigger,
        message: str,
        fulfilled: tuple[RunState, ...],
        conflict: tuple[str, Callable[[RunRecord], str]],
    ) -> None:
        """Apply the trigger, unless the run is in a state that fulfils it already."""
        code, refusal = conflict

        def work(transaction: Transaction) -> None:
            connection = transaction.connection
            found = queries.run_record(connection, run)
            if found.state in fulfilled:
                return
            key = queries.run_key(connection, found.id)
            if apply_trigger(connection, run_key=key, trigger=trigger, now=_now(), message=message) is None:
                raise ConflictError(code, refusal(found))
            transaction.after_commit(lambda: self._on_change(found.id))

        self._writer.run(work)


def _check_checkpoint(connection: Connection, run_key: int, from_step: int | None) -> None:
    if from_step is None:
        return
    known = kept_steps(connection, run_key)
    if from_step not in known:
        there = ", ".join(map(str, known[-_MAX_NAMED:])) or "none"
        raise InvalidError([("/from_step", f"there is no checkpoint of step {from_step}; there are: {there}")])


def _tell(connection: Connection, run_key: int, kind: str, message: str, now: datetime) -> None:
    add_event(connection, run_key=run_key, attempt=None, kind=kind, at=now, message=message, data={})


def _now() -> datetime:
    return datetime.now(UTC)
