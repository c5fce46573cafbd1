"""The rules of runs: made, changed, launched. Used by the endpoints, and by the supervisor from its own thread.

What people wish of a run that is there (pause, cancel, retry, delete) is in `wishes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState, RunTrigger
from server.database.engine import Database
from server.database.tables import attempts, runs
from server.database.writer import Transaction, Work, Writer
from server.errors import ConflictError
from server.runs import idempotency, queries
from server.runs.attempt_start import start_attempt
from server.runs.idempotency import IdempotencyKey
from server.runs.records import AttemptRecord, LaunchedAttempt, RunKind, RunRecord
from server.runs.run_id import new_run_id
from server.runs.run_tags import set_tags
from server.runs.schemas import RunChange
from server.runs.transitions import Transition, add_event, apply_trigger, fail_or_restart
from server.runs.version import check_version


class RunStore:
    """Everything that reads or changes a run as a whole. Safe from any thread; each call is one transaction."""

    def __init__(self, database: Database, writer: Writer, on_change: Callable[[str], None]) -> None:
        """on_change is called with the run's id after each commit that changed the run."""
        self._database = database
        self._writer = writer
        self._on_change = on_change

    # What the supervisor uses

    def runs_in(self, states: Iterable[RunState], *, kind: RunKind = RunKind.MANAGED) -> tuple[RunRecord, ...]:
        """The runs of one kind in any of these states, oldest first."""
        with self._database.read() as connection:
            return queries.runs_in(connection, states, kind)

    def run(self, run_id: str) -> RunRecord:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return queries.run_record(connection, run_id)

    def spec(self, run_id: str) -> RunSpec:
        """The spec as it was submitted. Raises NotFoundError."""
        with self._database.read() as connection:
            return queries.spec(connection, run_id)

    def attempt(self, run_id: str, number: int) -> AttemptRecord:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return queries.attempt_record(connection, run_id, number)

    def apply(
        self,
        run_id: str,
        trigger: RunTrigger,
        *,
        reason: str | None = None,
        message: str | None = None,
        attempt: int | None = None,
    ) -> RunState | None:
        """Apply a trigger and return the new state, or None when it means nothing in the run's state.

        reason: kept as the run's reason; message: what the event says, by default the reason.
        attempt: act only while this is the run's newest attempt. Raises NotFoundError.
        """

        def work(transaction: Transaction) -> RunState | None:
            connection, key = transaction.connection, queries.run_key(transaction.connection, run_id)
            transition = apply_trigger(
                connection,
                run_key=key,
                trigger=trigger,
                now=_now(),
                reason=reason,
                message=message,
                attempt=attempt,
            )
            return self._told(transaction, run_id, transition)

        return self._writer.run(work)

    def fail_or_restart(self, run_id: str, *, reason: str, attempt: int) -> RunState | None:
        """After a process of the attempt died: the next attempt, or `failed` when limits.max_restarts is used up."""

        def work(transaction: Transaction) -> RunState | None:
            key = queries.run_key(transaction.connection, run_id)
            transition = fail_or_restart(
                transaction.connection, run_key=key, now=_now(), reason=reason, attempt=attempt
            )
            return self._told(transaction, run_id, transition)

        return self._writer.run(work)

    def launch(self, run_id: str) -> LaunchedAttempt | None:
        """Take a queued run to `starting` and make its next attempt, or return None when it is not queued any more."""
        return self._writer.run(self._launch_work(run_id))

    def set_job(self, run_id: str, attempt: int, job_id: str) -> None:
        """Keep the id of the attempt's Ray job."""

        def work(transaction: Transaction) -> None:
            key = queries.run_key(transaction.connection, run_id)
            transaction.connection.execute(
                update(attempts).where(attempts.c.run_key == key, attempts.c.number == attempt).values(job_id=job_id)
            )

        self._writer.run(work)

    def set_reason(self, run_id: str, reason: str | None) -> None:
        """Say what a run waits for, without a change of state."""

        def work(transaction: Transaction) -> None:
            changed = transaction.connection.execute(
                update(runs).where(runs.c.id == run_id, runs.c.reason.is_distinct_from(reason)).values(reason=reason)
            )
            if changed.rowcount:
                transaction.after_commit(lambda: self._on_change(run_id))

        self._writer.run(work)

    def add_event(self, run_id: str, *, kind: str, message: str, attempt: int | None = None) -> None:
        """Add an event to the run's history, e.g. that its job was submitted."""

        def work(transaction: Transaction) -> None:
            key = queries.run_key(transaction.connection, run_id)
            add_event(
                transaction.connection, run_key=key, attempt=attempt, kind=kind, at=_now(), message=message, data={}
            )

        self._writer.run(work)

    # What the API uses

    def create(self, spec: RunSpec, key: IdempotencyKey | None = None, *, parent_id: str | None = None) -> str:
        """Store a new run, queued, and return its id. The spec has passed its checks already.

        key: the run that it made before is returned instead. Raises KeyReusedError when it stands for another spec.
        parent_id: the run that it is a clone of.
        """
        now = _now()
        run_id = new_run_id(now)

        def work(transaction: Transaction) -> str:
            connection = transaction.connection
            known = None if key is None else idempotency.known_run(connection, key)
            if known is not None:
                return known
            connection.execute(insert(runs).values(queries.new_run_values(run_id, spec, now, parent_id)))
            run_key = queries.run_key(connection, run_id)
            set_tags(connection, run_key, spec.tags)
            message = "created" if parent_id is None else f"cloned from {parent_id}"
            add_event(connection, run_key=run_key, attempt=None, kind="run.queued", at=now, message=message, data={})
            if key is not None:
                idempotency.remember(connection, key, run_id, now)
            transaction.after_commit(lambda: self._on_change(run_id))
            return run_id

        return self._writer.run(work)

    def change(self, run: str, change: RunChange, *, by: str, version: int | None) -> None:
        """Change what clients may change of a run; an event tells who did it.

        version: of the run as the caller read it. Raises StaleVersionError when it has changed since, NotFoundError, or
        ConflictError when a run that has not ended shall be archived.
        """

        def work(transaction: Transaction) -> None:
            connection, now = transaction.connection, _now()
            row = connection.execute(select(runs).where(runs.c.key == queries.run_key(connection, run))).one()
            check_version(row.version, version)
            if change.archived and not RunState(row.state).is_terminal:
                raise ConflictError("run-active", f"The run is {row.state}; cancel it before it is archived.")
            values: dict[str, Any] = change.model_dump(exclude={"tags", "archived"}, exclude_none=True)
            if change.archived is not None:
                values["archived_at"] = (row.archived_at or now) if change.archived else None
            connection.execute(update(runs).where(runs.c.key == row.key).values(version=row.version + 1, **values))
            if change.tags is not None:
                set_tags(connection, row.key, change.tags)
            told = change.model_dump(exclude_none=True)
            message = f"{by} changed {', '.join(told) or 'nothing'}"
            add_event(connection, run_key=row.key, attempt=None, kind="run.changed", at=now, message=message, data=told)
            transaction.after_commit(lambda: self._on_change(row.id))

        self._writer.run(work)

    def _launch_work(self, run_id: str) -> Work[LaunchedAttempt | None]:
        def work(transaction: Transaction) -> LaunchedAttempt | None:
            connection = transaction.connection
            run = queries.run_record(connection, run_id)
            if run.state is not RunState.QUEUED:
                return None
            key = queries.run_key(connection, run_id)
            step = queries.resume_step(connection, key)
            started = start_attempt(connection, run_key=key, now=_now())
            self._told(transaction, run_id, started.transition)
            spec = queries.spec(connection, run_id)
            return LaunchedAttempt(
                run_id=run_id,
                number=started.number,
                spec=spec,
                ingest_token=started.token,
                resume_step=step,
            )

        return work

    def _told(self, transaction: Transaction, run_id: str, transition: Transition | None) -> RunState | None:
        if transition is None:
            return None
        transaction.after_commit(lambda: self._on_change(run_id))
        return transition.after


def _now() -> datetime:
    return datetime.now(UTC)
