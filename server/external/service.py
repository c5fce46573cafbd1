"""Makes external runs and their attempts. Used by the endpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, update

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.database.tables import runs
from server.database.writer import Transaction, Writer
from server.errors import ConflictError
from server.external.schemas import ExternalAttempt, ExternalRunSpec
from server.runs import idempotency, queries
from server.runs.attempt_start import start_attempt
from server.runs.idempotency import IdempotencyKey
from server.runs.records import RunKind
from server.runs.run_id import new_run_id
from server.runs.run_tags import set_tags
from server.runs.transitions import add_event, apply_trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedExternalRun:
    """An external run whose first attempt may be recorded."""

    run_id: str
    ingest_token: str | None
    """None: an equal request made the run before, and was told the token."""


class ExternalRuns:
    """Safe from any thread; each call is one transaction."""

    def __init__(self, writer: Writer, on_change: Callable[[str], None]) -> None:
        """on_change is called with the run's id after each commit that changed the run."""
        self._writer = writer
        self._on_change = on_change

    def create(self, spec: ExternalRunSpec, key: IdempotencyKey | None = None) -> CreatedExternalRun:
        """Make a run and its first attempt. It is `running` when its writer first reports.

        key: the run that it made before is told instead, without its token. Raises KeyReusedError.
        """
        now = datetime.now(UTC)
        run_id = new_run_id(now)

        def work(transaction: Transaction) -> CreatedExternalRun:
            connection = transaction.connection
            known = None if key is None else idempotency.known_run(connection, key)
            if known is not None:
                return CreatedExternalRun(run_id=known, ingest_token=None)
            values = queries.new_external_run_values(run_id, spec.name, spec.config, now)
            connection.execute(insert(runs).values(values))
            run_key = queries.run_key(connection, run_id)
            set_tags(connection, run_key, spec.tags)
            message = "created; another framework records it"
            add_event(connection, run_key=run_key, attempt=None, kind="run.queued", at=now, message=message, data={})
            if key is not None:
                idempotency.remember(connection, key, run_id, now)
            started = start_attempt(connection, run_key=run_key, now=now)
            transaction.after_commit(lambda: self._on_change(run_id))
            return CreatedExternalRun(run_id=run_id, ingest_token=started.token)

        return self._writer.run(work)

    def begin_attempt(self, run: str, *, by: str) -> ExternalAttempt:
        """Begin the next attempt, which fences off the writer of the one before.

        Raises NotFoundError, or ConflictError for a managed run, or one that is stopping or has succeeded.
        """

        def work(transaction: Transaction) -> ExternalAttempt:
            connection, now = transaction.connection, datetime.now(UTC)
            found = queries.run_record(connection, run)
            if found.kind is not RunKind.EXTERNAL:
                raise ConflictError("managed-run", "Swell runs this run itself; retry it to let it go on.")
            run_key = queries.run_key(connection, found.id)
            _queue_again(connection, run_key, found.state, message=f"{by} begins attempt {found.attempt + 1}")
            started = start_attempt(connection, run_key=run_key, now=now)
            transaction.after_commit(lambda: self._on_change(found.id))
            return ExternalAttempt(run_id=found.id, attempt=started.number, ingest_token=started.token)

        return self._writer.run(work)


def _queue_again(connection: Connection, run_key: int, state: RunState, *, message: str) -> None:
    if state is RunState.STOPPING:
        raise ConflictError("run-stopping", "The run is asked to stop; begin its next attempt when it is cancelled.")
    trigger = RunTrigger.RETRY if state.is_terminal else RunTrigger.RESTART
    moved = apply_trigger(connection, run_key=run_key, trigger=trigger, now=datetime.now(UTC), message=message)
    if moved is None:
        raise ConflictError("not-retryable", f"The run is {state}; record a new run instead.")
    begun_anew = {"stop_mode": None, "stop_requested_at": None, "archived_at": None}
    connection.execute(update(runs).where(runs.c.key == run_key).values(begun_anew))
