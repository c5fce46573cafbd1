"""Stores the steps of all who wait for it, in as many statements as the steps of one. Called in the writer's thread.

reports ──► open the runs ──► what is new of each ──► insert all ──► progress, rollups, live frame of each ──► save
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from orchestrator.contracts.messages import IngestAnswer, Phase, StepsBatch
from server.database.writer import Transaction
from server.errors import ConflictError, InvalidError
from server.ingest import step_rows
from server.ingest.heard import answer, note_heard
from server.ingest.live_frame import steps_frame
from server.ingest.metric_catalogue import MetricCatalogue
from server.ingest.open_run import OpenRun, open_runs
from server.ingest.prepared_step import PreparedStep, prepare_steps
from server.ingest.rollup_rows import keep_rollups, may_sum_up
from server.ingest.run_progress import note_progress
from server.ingest.step_rows import NewSteps
from server.ingest.verify import Finding, untold
from server.live.hub import LiveHub
from server.runs.records import RunKind
from server.steps.lineage import current_view
from server.telemetry.figures import ServerFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsReport:
    """A batch of steps that is verified, but for what depends on its run."""

    run_id: str
    attempt: int
    prepared: Sequence[PreparedStep]
    untold: Sequence[Finding]
    """What a managed run would tell, too."""


def steps_report(run_id: str, batch: StepsBatch) -> StepsReport:
    """Verify a batch, in the request's thread. Raises InvalidError."""
    lacks = [(f"/steps/{i}{pointer}", told) for i, step in enumerate(batch.steps) for pointer, told in untold(step)]
    return StepsReport(run_id=run_id, attempt=batch.attempt, prepared=prepare_steps(batch.steps), untold=lacks)


class StepRecorder:
    """One per server."""

    def __init__(self, hub: LiveHub, figures: ServerFigures) -> None:
        self._hub = hub
        self._figures = figures
        self._catalogue = MetricCatalogue()

    def record(self, transaction: Transaction, reports: Sequence[StepsReport]) -> list[IngestAnswer]:
        """Record each report, all or none of its steps. Raises InvalidError or ConflictError if any is refused."""
        answers: list[IngestAnswer] = []
        for part in _of_different_runs(reports):
            answers += self._record(transaction, part)
        return answers

    def _record(self, transaction: Transaction, reports: Sequence[StepsReport]) -> list[IngestAnswer]:
        connection = transaction.connection
        runs = open_runs(connection, {report.run_id: report.attempt for report in reports})
        news = [_new_steps(connection, run, report) for run, report in zip(runs, reports, strict=True)]
        found = [(run, self._rows(transaction, run, new)) for run, new in zip(runs, news, strict=True) if new]
        step_rows.insert_steps(connection, [new for _, new in found])
        for run, new in found:
            self._follow(transaction, run, new)
        note_heard(transaction, self._hub, runs)
        counts = [(len(new), len(report.prepared) - len(new)) for new, report in zip(news, reports, strict=True)]
        self._count(transaction, news, num_duplicates=sum(duplicates for _, duplicates in counts))
        return [
            answer(run, accepted=accepted, duplicates=duplicates)
            for run, (accepted, duplicates) in zip(runs, counts, strict=True)
        ]

    def _rows(self, transaction: Transaction, run: OpenRun, new: Sequence[PreparedStep]) -> NewSteps:
        connection, first = transaction.connection, new[0].step
        if run.newest is None or first < run.newest.step:
            total = step_rows.totals_before(connection, run.key, run.attempt, first)
        else:
            total = run.newest.totals
        return NewSteps(
            run_key=run.key,
            attempt=run.attempt,
            steps=new,
            totals=step_rows.running_totals(total, new),
            metric_ids=self._catalogue.ids(transaction, run, new),
        )

    def _follow(self, transaction: Transaction, run: OpenRun, new: NewSteps) -> None:
        """What follows from the new steps once they are stored."""
        connection, first, newest = transaction.connection, new.steps[0], new.steps[-1].step
        if run.newest is not None:
            newest = max(newest, run.newest.step)
            if first.step < run.newest.step:
                step_rows.repeat_totals(connection, run.key, run.attempt, first.step)
        iteration = min((n for step in new.steps if (n := _iteration(step)) is not None), default=None)
        run.begins_at(step=first.step, at=first.message.started_at, iteration=iteration)
        if may_sum_up(run.rolled_up_to, first_new=first.step, newest=newest):
            keep_rollups(connection, run.key, run.attempt, first_new=first.step)
        view = current_view(run.segments(connection))
        note_progress(connection, run, new.steps, view=view)
        run_started_at = run.started_at(connection, view)
        frame = steps_frame(run.id, run.attempt, new.steps, new.totals, run_started_at=run_started_at)
        transaction.after_commit(lambda: self._hub.steps_recorded(frame))

    def _count(self, transaction: Transaction, news: Iterable[Sequence[PreparedStep]], *, num_duplicates: int) -> None:
        new = [step for one in news for step in one]
        num_points = sum(len(step.metrics) for step in new)
        transaction.after_commit(
            lambda: self._figures.recorded(num_steps=len(new), num_points=num_points, num_duplicates=num_duplicates)
        )


def _of_different_runs(reports: Iterable[StepsReport]) -> Iterator[list[StepsReport]]:
    """In their order. What follows of a run that is there already must find what the first of them stored."""
    part: dict[str, StepsReport] = {}
    for report in reports:
        if report.run_id in part:
            yield list(part.values())
            part = {}
        part[report.run_id] = report
    yield list(part.values())


def _new_steps(connection: Connection, run: OpenRun, report: StepsReport) -> list[PreparedStep]:
    """Those that are not stored yet, ascending.

    Raises InvalidError for a managed run that leaves something out, ConflictError for a step that is stored with other
    content.
    """
    if run.kind is RunKind.MANAGED and report.untold:
        raise InvalidError(list(report.untold))
    stored = _stored_hashes(connection, run, report.prepared)
    known = dict(stored)
    new: dict[int, PreparedStep] = {}
    for step in report.prepared:
        content_hash = known.setdefault(step.step, step.content_hash)
        if content_hash != step.content_hash:
            raise ConflictError(
                "conflicting-step",
                f"Step {step.step} of this attempt is recorded with other content, which is kept; "
                "nothing of this batch was stored.",
                pointer=f"/steps/{step.index}",
            )
        if step.step not in stored:
            new[step.step] = step
    return [new[number] for number in sorted(new)]


def _stored_hashes(connection: Connection, run: OpenRun, prepared: Sequence[PreparedStep]) -> Mapping[int, bytes]:
    """Of those steps that are stored already, by number. Most come after all that is stored."""
    numbers = {step.step for step in prepared}
    if run.newest is None or min(numbers) > run.newest.step:
        return {}
    return step_rows.stored_hashes(connection, run.key, run.attempt, numbers)


def _iteration(step: PreparedStep) -> int | None:
    """The iteration of reinforcement that a step belongs to, or that comes next after it; None: its writer has none."""
    return 0 if step.message.phase is Phase.WARM_START else step.message.iteration
