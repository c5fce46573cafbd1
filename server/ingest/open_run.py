"""What one transaction knows of the runs that it records: read once when it begins, written once when it ends.

Called by the ingest in the writer's thread. A run's state is changed elsewhere, by server/runs/transitions.py alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Update, bindparam, func, select, update

from orchestrator.contracts.run_state import RunState
from server.database.tables import attempts, runs, steps
from server.errors import ConflictError, NotFoundError
from server.ingest.step_rows import Newest, Totals, started_at
from server.runs.records import RunKind
from server.steps.lineage import Segment, segments_of

_WISH = ("activity", "total_steps")
_PROGRESS = ("num_steps", "last_step", "sparkline", "last_reward", "last_loss", "last_batch_size")
_BEGIN = ("first_step", "first_iteration")


def _is_step(table: FromClause, number: ColumnElement[int]) -> ColumnElement[bool]:
    """Of the newest attempt."""
    return (table.c.run_key == runs.c.key) & (table.c.attempt == runs.c.attempt) & (table.c.step == number)


_newest, _first = steps.alias("newest"), steps.alias("first")
_newest_number = (
    select(func.max(steps.c.step))
    .where(steps.c.run_key == runs.c.key, steps.c.attempt == runs.c.attempt)
    .scalar_subquery()
)
# Made once: to put a statement together takes longer than to run it.
_READ = (
    select(
        *(runs.c[name] for name in ("key", "id", "kind", "state", "attempt", *_WISH, *_PROGRESS)),
        *(attempts.c[name] for name in (*_BEGIN, "rolled_up_to", "outcome")),
        _first.c.started_at.label("began_at"),
        *(_newest.c[name].label(f"newest_{name}") for name in ("step", "samples_total", "tokens_total")),
    )
    .select_from(runs)
    .outerjoin(attempts, (attempts.c.run_key == runs.c.key) & (attempts.c.number == runs.c.attempt))
    .outerjoin(_first, _is_step(_first, attempts.c.first_step))
    .outerjoin(_newest, _is_step(_newest, _newest_number))
    .where(runs.c.id.in_(bindparam("run_ids", expanding=True)), runs.c.deleted_at.is_(None))
)
_OLDER_FIRST_STEPS = select(attempts.c.number, attempts.c.first_step).where(
    attempts.c.run_key == bindparam("this_run"),
    attempts.c.number < bindparam("this_attempt"),
    attempts.c.first_step.is_not(None),
)
_WRITE_RUN = update(runs).where(runs.c.key == bindparam("this_run"))
_WRITE_ATTEMPT = update(attempts).where(
    attempts.c.run_key == bindparam("this_run"), attempts.c.number == bindparam("this_attempt")
)


@dataclass(slots=True, kw_only=True)
class OpenRun:
    """A run and its newest attempt. What is set here is in the database after `save_runs`."""

    key: int
    id: str
    kind: RunKind
    state: RunState
    attempt: int
    activity: str | None
    total_steps: int | None
    num_steps: int
    last_step: str | None
    """JSON of a LastStep."""
    sparkline: str | None
    last_reward: float | None
    last_loss: float | None
    last_batch_size: int | None
    first_step: int | None
    """Of the attempt, as is what follows: from there on it supersedes older ones."""
    first_iteration: int | None
    began_at: datetime | None
    """When the first step began."""
    newest: Newest | None
    """Before this transaction; a step after it is new."""
    rolled_up_to: int
    outcome: str | None
    stored: Mapping[str, Any]
    """What is in the database, by column."""

    def begins_at(self, *, step: int, at: datetime, iteration: int | None) -> None:
        """Keep the first step and the first iteration that the attempt recorded. at: when that step began."""
        if self.first_step is None or step < self.first_step:
            self.first_step, self.began_at = step, at
        if iteration is not None:
            self.first_iteration = iteration if self.first_iteration is None else min(self.first_iteration, iteration)

    def segments(self, connection: Connection) -> list[Segment]:
        """The segments of the run, with what this transaction recorded."""
        place = {"this_run": self.key, "this_attempt": self.attempt}
        older = [] if self.attempt == 1 else connection.execute(_OLDER_FIRST_STEPS, place).all()
        own = [] if self.first_step is None else [(self.attempt, self.first_step)]
        return segments_of([*((number, first) for number, first in older), *own])

    def started_at(self, connection: Connection, view: Sequence[Segment]) -> datetime:
        """When the first step of the current view began."""
        if view[0].attempt == self.attempt and self.began_at is not None:
            return self.began_at
        return started_at(connection, self.key, view[0])

    def changed(self, names: Sequence[str]) -> dict[str, Any]:
        """All of these columns when one of them has changed, so that the rows of many runs are written alike."""
        values = {name: getattr(self, name) for name in names}
        return values if any(value != self.stored[name] for name, value in values.items()) else {}


def open_run(connection: Connection, run_id: str, attempt: int) -> OpenRun:
    """As `open_runs`, of one."""
    return open_runs(connection, {run_id: attempt})[0]


def open_runs(connection: Connection, newest: Mapping[str, int]) -> list[OpenRun]:
    """The runs with these ids, in their order, if these attempts are their newest.

    The number of an attempt is a fencing token for the writers of older ones. Raises NotFoundError, or ConflictError
    for another attempt.
    """
    rows: dict[str, Any] = {row.id: row for row in connection.execute(_READ, {"run_ids": list(newest)})}
    return [_opened(rows.get(run_id), run_id, attempt) for run_id, attempt in newest.items()]


def save_runs(connection: Connection, opened: Iterable[OpenRun], *, heard_at: datetime, **of_attempt: Any) -> None:
    """Write what has changed, and that the attempts were heard of now. of_attempt: further columns of their rows."""
    heard = {"last_heartbeat_at": heard_at}
    of_attempts, of_runs = [], []
    for run in opened:
        place = {"this_run": run.key, "this_attempt": run.attempt}
        of_attempts.append(place | heard | of_attempt | run.changed(_BEGIN))
        of_runs.append({"this_run": run.key} | heard | run.changed(_WISH) | run.changed(_PROGRESS))
    _update(connection, _WRITE_ATTEMPT, of_attempts)
    _update(connection, _WRITE_RUN, of_runs)


def _opened(row: Any, run_id: str, attempt: int) -> OpenRun:
    if row is None:
        raise NotFoundError(f"There is no run with the id {run_id!r}.")
    if attempt < row.attempt:
        told = f"Attempt {attempt} is over: attempt {row.attempt} of this run has begun. Stop writing."
        raise ConflictError("stale-attempt", told, pointer="/attempt")
    if attempt > row.attempt:
        told = f"The run has no attempt {attempt}; its newest is {row.attempt}."
        raise ConflictError("unknown-attempt", told, pointer="/attempt")
    stored = row._asdict()
    values = dict(stored)
    step, samples, tokens = (values.pop(f"newest_{name}") for name in ("step", "samples_total", "tokens_total"))
    newest = None if step is None else Newest(step=step, totals=Totals(samples=samples, tokens=tokens))
    values |= {"kind": RunKind(row.kind), "state": RunState(row.state)}
    return OpenRun(**values, newest=newest, stored=stored)


def _update(connection: Connection, statement: Update, rows: Iterable[dict[str, Any]]) -> None:
    """One statement for all rows of the same columns."""
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append(row)
    for same in alike.values():
        connection.execute(statement, same)
