"""What one transaction knows of the run that it records: read once when it begins, written once when it ends.

Called by the ingest in the writer's thread. A run's state is changed elsewhere, by server/runs/transitions.py alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from orchestrator.contracts.run_state import RunState
from server.database.tables import attempts, runs
from server.errors import ConflictError, NotFoundError
from server.runs.records import RunKind
from server.steps.lineage import Segment, segments_of

_OF_RUN = (
    *("activity", "total_steps", "num_steps", "last_step", "sparkline"),
    *("last_reward", "last_loss", "last_batch_size"),
)
_OF_ATTEMPT = ("first_step", "first_iteration")
# Made once: to put a statement together takes longer than to run it.
_READ = (
    select(
        *(runs.c[name] for name in ("key", "id", "kind", "state", "attempt", *_OF_RUN)),
        *(attempts.c[name] for name in (*_OF_ATTEMPT, "rolled_up_to", "outcome")),
    )
    .join_from(runs, attempts, (attempts.c.run_key == runs.c.key) & (attempts.c.number == runs.c.attempt), isouter=True)
    .where(runs.c.id == bindparam("run_id"), runs.c.deleted_at.is_(None))
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
    """A run and its newest attempt. What is set here is in the database after `save`."""

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
    rolled_up_to: int
    outcome: str | None
    _stored: dict[str, Any] = field(default_factory=dict)

    def begins_at(self, *, step: int, iteration: int | None) -> None:
        """Keep the first step and the first iteration that the attempt recorded."""
        self.first_step = step if self.first_step is None else min(self.first_step, step)
        if iteration is not None:
            self.first_iteration = iteration if self.first_iteration is None else min(self.first_iteration, iteration)

    def segments(self, connection: Connection) -> list[Segment]:
        """The segments of the run, with what this transaction recorded."""
        place = {"this_run": self.key, "this_attempt": self.attempt}
        older = [] if self.attempt == 1 else connection.execute(_OLDER_FIRST_STEPS, place).all()
        own = [] if self.first_step is None else [(self.attempt, self.first_step)]
        return segments_of([*((number, first) for number, first in older), *own])

    def save(self, connection: Connection, *, heard_at: datetime, **of_attempt: Any) -> None:
        """Write what has changed, and that the attempt was heard of now. of_attempt: further columns of its row."""
        place = {"this_run": self.key, "this_attempt": self.attempt}
        of_attempt |= {"last_heartbeat_at": heard_at, **self._changed(_OF_ATTEMPT)}
        connection.execute(_WRITE_ATTEMPT, place | of_attempt)
        of_run = {"last_heartbeat_at": heard_at, **self._changed(_OF_RUN)}
        connection.execute(_WRITE_RUN, {"this_run": self.key} | of_run)

    def _changed(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name)) != self._stored[name]}


def open_run(connection: Connection, run_id: str, attempt: int) -> OpenRun:
    """The run, if the attempt is its newest: a number is a fencing token for the writers of older ones.

    Raises NotFoundError, or ConflictError for another attempt.
    """
    row = connection.execute(_READ, {"run_id": run_id}).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"There is no run with the id {run_id!r}.")
    newest = row["attempt"]
    if attempt < newest:
        raise ConflictError(
            "stale-attempt", f"Attempt {attempt} is over: attempt {newest} of this run has begun. Stop writing."
        )
    if attempt > newest:
        raise ConflictError("unknown-attempt", f"The run has no attempt {attempt}; its newest is {newest}.")
    stored = dict(row)
    values = stored | {"kind": RunKind(row["kind"]), "state": RunState(row["state"])}
    return OpenRun(**values, _stored=stored)
