"""Takes what a driver reports: fenced by attempt, once each, all or none, answered after commit.

steps, events, rollouts, logs, checkpoints   verify in the request's thread ──► one transaction ──► live stream
state        the driver's last word; `stopped` becomes `cancelled` when the supervisor has seen the process end
heartbeat    a sign of life; the first one, or one after silence, makes the run `running`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.contracts.checkpoint_messages import CheckpointsBatch
from orchestrator.contracts.log_messages import LogsBatch
from orchestrator.contracts.messages import (
    DesiredState,
    EventsBatch,
    Heartbeat,
    IngestAnswer,
    Phase,
    StateReport,
    StepsBatch,
)
from orchestrator.contracts.rollout_messages import RolloutsBatch
from orchestrator.contracts.run_state import RunState, RunTrigger
from server.checkpoints.storing import check_checkpoints, upsert_checkpoints
from server.database.tables import is_storable
from server.database.writer import Transaction, Writer
from server.errors import ConflictError, InvalidError
from server.ingest import event_rows, step_rows
from server.ingest.live_frame import steps_frame
from server.ingest.metric_catalogue import MetricCatalogue
from server.ingest.open_run import OpenRun, open_run
from server.ingest.prepared_step import PreparedStep, prepare_steps
from server.ingest.rollup_rows import keep_rollups, may_sum_up
from server.ingest.run_progress import note_progress
from server.ingest.step_rows import Newest
from server.ingest.verify import MAX_COUNT, untold
from server.live.hub import LiveHub
from server.live.schemas import CheckpointNews, IterationNews, LogNews
from server.logs.queries import newest_line
from server.logs.storing import check_lines, insert_lines
from server.rollouts.prepared_iteration import prepare_iterations
from server.rollouts.storing import insert_iterations
from server.runs.records import RunKind
from server.runs.transitions import Transition, apply_trigger, fail_or_restart
from server.steps.lineage import current_view
from server.system.storing import insert_sample, pack_sample
from server.telemetry.figures import ServerFigures

_TRIGGERS = {"succeeded": RunTrigger.SUCCEED, "failed": RunTrigger.FAIL}
_NOT_ASKED = "The driver stopped although nobody asked it to."


class Ingest:
    """What the ingest endpoints call. Every method returns after commit."""

    def __init__(self, writer: Writer, hub: LiveHub, figures: ServerFigures) -> None:
        self._writer = writer
        self._hub = hub
        self._figures = figures
        self._catalogue = MetricCatalogue()

    def steps(self, run_id: str, batch: StepsBatch) -> IngestAnswer:
        """Record steps, all or none. Raises InvalidError, or ConflictError for a stale attempt or other content."""
        prepared = prepare_steps(batch.steps)

        def work(transaction: Transaction) -> IngestAnswer:
            connection = transaction.connection
            run = open_run(connection, run_id, batch.attempt)
            if run.kind is RunKind.MANAGED:
                _check_whole(batch)
            newest = step_rows.newest_step(connection, run.key, run.attempt)
            new = _new_steps(prepared, _stored_hashes(connection, run, prepared, newest))
            if new:
                self._record(transaction, run, new, newest)
            self._alive(transaction, run)
            self._count(transaction, new, num_duplicates=len(prepared) - len(new))
            return _answer(run, accepted=len(new), duplicates=len(prepared) - len(new))

        return self._writer.run(work)

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
                return _answer(run, accepted=0, duplicates=1)
            if run.outcome is not None:
                raise ConflictError(
                    "conflicting-outcome", f"Attempt {report.attempt} has ended already: {run.outcome}."
                )
            self._alive(transaction, run, outcome=report.outcome, reason=report.reason, ended_at=_now())
            _end(connection, run, report)
            return _answer(run, accepted=1, duplicates=0)

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
            self._alive(transaction, run)
            if beat.is_paused:
                _apply(transaction.connection, run, RunTrigger.PAUSED)
            return _answer(run, accepted=1, duplicates=0)

        return self._writer.run(work)

    def _take(
        self, run_id: str, attempt: int, count: int, store: Callable[[Transaction, OpenRun], int]
    ) -> IngestAnswer:
        """Store records of an attempt in one transaction. `store` returns how many of the `count` were new."""

        def work(transaction: Transaction) -> IngestAnswer:
            run = open_run(transaction.connection, run_id, attempt)
            accepted = store(transaction, run)
            self._alive(transaction, run)
            return _answer(run, accepted=accepted, duplicates=count - accepted)

        return self._writer.run(work)

    def _record(self, transaction: Transaction, run: OpenRun, new: list[PreparedStep], newest: Newest | None) -> None:
        """newest: the attempt's newest step before."""
        connection, first, last = transaction.connection, new[0].step, new[-1].step
        is_late = newest is not None and newest.step > first
        if newest is None or is_late:
            total = step_rows.totals_before(connection, run.key, run.attempt, first)
        else:
            total = newest.totals
        metric_ids = self._catalogue.ids(transaction, run, new)
        totals = step_rows.insert_steps(connection, run.key, run.attempt, new, total=total, metric_ids=metric_ids)
        if is_late:
            step_rows.repeat_totals(connection, run.key, run.attempt, first)
        run.begins_at(
            step=first, iteration=min((n for step in new if (n := _iteration(step)) is not None), default=None)
        )
        if may_sum_up(run.rolled_up_to, first_new=first, newest=last if newest is None else max(last, newest.step)):
            keep_rollups(connection, run.key, run.attempt, first_new=first)
        view = current_view(run.segments(connection))
        note_progress(connection, run, new, view=view)
        run_started_at = step_rows.started_at(connection, run.key, view[0])
        frame = steps_frame(run.id, run.attempt, new, totals, run_started_at=run_started_at)
        transaction.after_commit(lambda: self._hub.steps_recorded(frame))

    def _count(self, transaction: Transaction, new: list[PreparedStep], *, num_duplicates: int) -> None:
        num_points = sum(len(step.metrics) for step in new)
        transaction.after_commit(
            lambda: self._figures.recorded(num_steps=len(new), num_points=num_points, num_duplicates=num_duplicates)
        )

    def _alive(self, transaction: Transaction, run: OpenRun, **of_attempt: Any) -> None:
        # The server's own clock: the driver's may be wrong.
        run.save(transaction.connection, heard_at=_now(), **of_attempt)
        if run.state in (RunState.STARTING, RunState.LOST):
            _apply(transaction.connection, run, RunTrigger.REPORT)
        transaction.after_commit(lambda: self._hub.run_changed(run.id))


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
        _note(run, fail_or_restart(connection, run_key=run.key, now=_now(), reason=reason, attempt=report.attempt))
    else:
        _apply(connection, run, trigger, reason=reason)


def _apply(
    connection: Connection, run: OpenRun, trigger: RunTrigger, *, reason: str | None = None, message: str | None = None
) -> None:
    _note(run, apply_trigger(connection, run_key=run.key, trigger=trigger, now=_now(), reason=reason, message=message))


def _note(run: OpenRun, transition: Transition | None) -> None:
    if transition is not None:
        run.state = transition.after


def _check_whole(batch: StepsBatch) -> None:
    errors = [(f"/steps/{i}{pointer}", told) for i, step in enumerate(batch.steps) for pointer, told in untold(step)]
    if errors:
        raise InvalidError(errors)


def _stop_external(connection: Connection, run: OpenRun, report: StateReport) -> None:
    """Nobody watches its process: its own word ends it, whether it was asked to stop or somebody stopped it there."""
    message = report.reason or "its writer was stopped"
    for trigger in (RunTrigger.CANCEL, RunTrigger.STOPPED):
        _apply(connection, run, trigger, message=message)


def _stored_hashes(
    connection: Connection, run: OpenRun, prepared: Sequence[PreparedStep], newest: Newest | None
) -> dict[int, bytes]:
    """Of those steps that are stored already, by number. Most come after all that is stored."""
    numbers = {step.step for step in prepared}
    if newest is None or min(numbers) > newest.step:
        return {}
    return step_rows.stored_hashes(connection, run.key, run.attempt, numbers)


def _new_steps(prepared: Sequence[PreparedStep], stored: Mapping[int, bytes]) -> list[PreparedStep]:
    """Those that are not stored yet, ascending. Raises ConflictError for a step that is stored with other content."""
    known = dict(stored)
    new: dict[int, PreparedStep] = {}
    for step in prepared:
        content_hash = known.setdefault(step.step, step.content_hash)
        if content_hash != step.content_hash:
            raise ConflictError(
                "conflicting-step",
                f"Step {step.step} of this attempt is recorded with other content, which is kept; "
                "nothing of this batch was stored.",
            )
        if step.step not in stored:
            new[step.step] = step
    return [new[number] for number in sorted(new)]


def _iteration(step: PreparedStep) -> int | None:
    """The iteration of reinforcement that a step belongs to, or that comes next after it; None: its writer has none."""
    return 0 if step.message.phase is Phase.WARM_START else step.message.iteration


def _answer(run: OpenRun, *, accepted: int, duplicates: int) -> IngestAnswer:
    # One that is queued again was given up, and its next attempt goes on in its place.
    is_over = run.state in (RunState.STOPPING, RunState.QUEUED) or run.state.is_terminal
    shall_wait = run.state in (RunState.PAUSING, RunState.PAUSED)
    wanted = DesiredState.STOP if is_over else DesiredState.PAUSE if shall_wait else DesiredState.RUN
    return IngestAnswer(accepted=accepted, duplicates=duplicates, desired_state=wanted)


def _now() -> datetime:
    return datetime.now(UTC)
