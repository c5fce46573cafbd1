"""Takes what a driver reports: fenced by attempt, once each, all or none, answered after commit.

steps, events, rollouts, logs, checkpoints   verify in the request's thread ──► one transaction ──► live stream
state        the driver's last word; `stopped` becomes `cancelled` when the supervisor has seen the process end
heartbeat    a sign of life; the first one, or one after silence, makes the run `running`
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from orchestrator.contracts.checkpoint_messages import CheckpointsBatch
from orchestrator.contracts.log_messages import LogsBatch
from orchestrator.contracts.messages import (
    EventsBatch,
    Heartbeat,
    IngestAnswer,
    StateReport,
    StepsBatch,
)
from orchestrator.contracts.rollout_messages import RolloutsBatch
from orchestrator.contracts.run_state import RunState, RunTrigger
from server.checkpoints.storing import check_checkpoints, upsert_checkpoints
from server.database.tables import is_storable
from server.database.writer import Transaction, Writer
from server.errors import ConflictError, InvalidError
from server.ingest import event_rows
from server.ingest.heard import answer, move, note_heard, note_move, now
from server.ingest.open_run import OpenRun, open_run
from server.ingest.step_recorder import StepRecorder, steps_report
from server.ingest.verify import MAX_COUNT
from server.live.hub import LiveHub
from server.live.schemas import CheckpointNews, IterationNews, LogNews
from server.logs.queries import newest_line
from server.logs.storing import check_lines, insert_lines
from server.rollouts.prepared_iteration import prepare_iterations
from server.rollouts.storing import insert_iterations
from server.runs.records import RunKind
from server.runs.transitions import fail_or_restart
from server.system.storing import insert_sample, pack_sample
from server.telemetry.figures import ServerFigures

_TRIGGERS = {"succeeded": RunTrigger.SUCCEED, "failed": RunTrigger.FAIL}
_NOT_ASKED = "The driver stopped although nobody asked it to."


class Ingest:
    """What the ingest endpoints call. Every method returns after commit."""

    def __init__(self, writer: Writer, hub: LiveHub, figures: ServerFigures) -> None:
        self._writer = writer
        self._hub = hub
        self._recorder = StepRecorder(hub, figures)

    def steps(self, run_id: str, batch: StepsBatch) -> IngestAnswer:
        """Record steps, all or none. Raises InvalidError, or ConflictError for a stale attempt or other content."""
        return self._writer.run_jointly(self._recorder.record, steps_report(run_id, batch))

    def events(self, run_id: str, batch: EventsBatch) -> IngestAnswer:
        """Record events, all or none. Raises ConflictError for a stale attempt, or for a key with other content."""
        early_or_late = [i for i, event in enumerate(batch.events) if not is_storable(event.at)]
        if early_or_late:
            raise InvalidError(
                [(f"/events/{i}/at", "is no moment that can be told; check the clock") for i in early_or_late]
            )

        def store(transaction: Transaction, run: OpenRun) -> int:
            return event_rows.insert_events(transaction.connection, run.key, run.attempt, batch.events)

        return self._take(run_id, batch.attempt, len(batch.events), store)

    def rollouts(self, run_id: str, batch: RolloutsBatch) -> IngestAnswer:
        """Record iterations with their rollouts, all or none. Raises as `steps`."""
        prepared = prepare_iterations(batch.iterations)

        def store(transaction: Transaction, run: OpenRun) -> int:
            new = insert_iterations(transaction.connection, run.key, run.attempt, prepared)
            if new:
                newest = max(one.message.iteration for one in new)
                news = IterationNews(run=run.id, attempt=run.attempt, iteration=newest)
                transaction.after_commit(lambda: self._hub.tell(news))
            return len(new)

        return self._take(run_id, batch.attempt, len(prepared), store)

    def logs(self, run_id: str, batch: LogsBatch) -> IngestAnswer:
        """Record log lines, all or none. Raises as `steps`."""
        check_lines(batch.lines)

        def store(transaction: Transaction, run: OpenRun) -> int:
            connection = transaction.connection
            accepted = insert_lines(connection, run.key, run.attempt, batch.lines)
            if accepted:
                news = LogNews(run=run.id, up_to=newest_line(connection, run.key), num_lines=accepted)
                transaction.after_commit(lambda: self._hub.tell(news))
            return accepted

        return self._take(run_id, batch.attempt, len(batch.lines), store)

    def checkpoints(self, run_id: str, batch: CheckpointsBatch) -> IngestAnswer:
        """Record what became of checkpoints, all or none. Raises as `steps`."""
        check_checkpoints(batch.checkpoints)

        def store(transaction: Transaction, run: OpenRun) -> int:
            news = upsert_checkpoints(transaction.connection, run.key, run.attempt, batch.checkpoints)
            if news:
                told = CheckpointNews(run=run.id, attempt=run.attempt, step=max(one.step for one in news))
                transaction.after_commit(lambda: self._hub.tell(told))
            return len(news)

        return self._take(run_id, batch.attempt, len(batch.checkpoints), store)

    def state(self, run_id: str, report: StateReport) -> IngestAnswer:
        """Take the driver's last word. Raises ConflictError for a stale attempt, or for another outcome than before."""

        def work(transaction: Transaction) -> IngestAnswer:
            connection = transaction.connection
            run = open_run(connection, run_id, report.attempt)
            if run.outcome == report.outcome:
                return answer(run, accepted=0, duplicates=1)
            if run.outcome is not None:
                told = f"Attempt {report.attempt} has ended already: {run.outcome}."
                raise ConflictError("conflicting-outcome", told, pointer="/outcome")
            note_heard(transaction, self._hub, [run], outcome=report.outcome, reason=report.reason, ended_at=now())
            _end(connection, run, report)
            return answer(run, accepted=1, duplicates=0)

        return self._writer.run(work)

    def heartbeat(self, run_id: str, beat: Heartbeat) -> IngestAnswer:
        """Take a sign of life. Raises ConflictError for a stale attempt."""
        if beat.total_steps is not None and beat.total_steps > MAX_COUNT:
            raise InvalidError([("/total_steps", f"is {beat.total_steps}; at most {MAX_COUNT} can be recorded")])

        sample = None if beat.system is None else (beat.system, pack_sample(beat.system))

        def work(transaction: Transaction) -> IngestAnswer:
            run = open_run(transaction.connection, run_id, beat.attempt)
            if sample is not None:
                insert_sample(transaction.connection, run.key, run.attempt, *sample)
            if not run.state.is_terminal:
                run.activity, run.total_steps = beat.activity, beat.total_steps
            note_heard(transaction, self._hub, [run])
            if beat.is_paused:
                move(transaction.connection, run, RunTrigger.PAUSED)
            return answer(run, accepted=1, duplicates=0)

        return self._writer.run(work)

    def _take(
        self, run_id: str, attempt: int, count: int, store: Callable[[Transaction, OpenRun], int]
    ) -> IngestAnswer:
        """Store records of an attempt in one transaction. `store` returns how many of the `count` were new."""

        def work(transaction: Transaction) -> IngestAnswer:
            run = open_run(transaction.connection, run_id, attempt)
            accepted = store(transaction, run)
            note_heard(transaction, self._hub, [run])
            return answer(run, accepted=accepted, duplicates=count - accepted)

        return self._writer.run(work)


def _end(connection: Connection, run: OpenRun, report: StateReport) -> None:
    if report.outcome != "stopped":
        trigger, reason = _TRIGGERS[report.outcome], report.reason
    elif run.kind is RunKind.EXTERNAL:
        _stop_external(connection, run, report)
        return
    elif run.state is RunState.STOPPING:
        return
    else:
        trigger, reason = RunTrigger.FAIL, report.reason or _NOT_ASKED
    if trigger is RunTrigger.FAIL and report.can_restart and run.kind is RunKind.MANAGED:
        note_move(run, fail_or_restart(connection, run_key=run.key, now=now(), reason=reason, attempt=report.attempt))
    else:
        move(connection, run, trigger, reason=reason)


def _stop_external(connection: Connection, run: OpenRun, report: StateReport) -> None:
    """Nobody watches its process: its own word ends it, whether it was asked to stop or somebody stopped it there."""
    message = report.reason or "its writer was stopped"
    for trigger in (RunTrigger.CANCEL, RunTrigger.STOPPED):
        move(connection, run, trigger, message=message)
