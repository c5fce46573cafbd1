"""All SQL over runs and attempts, and how their rows become records and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import orjson
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, or_, select

from orchestrator.contracts.batch_spec import BatchSpec, FixedBatchSpec
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState
from server.database.tables import attempts, run_tags, runs
from server.errors import ConflictError, NotFoundError
from server.runs import known_checkpoints
from server.runs.records import AttemptRecord, RunKind, RunRecord
from server.runs.run_id import is_run_id
from server.runs.schemas import LastStep, Run, RunSummary
from server.runs.secrets import without_secrets
from server.runs.sorting import RunSort
from trainer.contracts.parallelism_spec import ParallelismSpec

Place: TypeAlias = tuple[float | str | None, int]
"""Of a run in a sorted list: what it is sorted by, and its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs a list shows."""

    states: tuple[RunState, ...] = ()
    text: str | None = None
    """Part of the name or the id, whatever its case."""
    name: str | None = None
    """The whole name."""
    tags: tuple[str, ...] = ()
    """`tag=value`, or `tag` for any value; all must match. Tags may hold a `=` themselves."""
    archived: bool = False
    """Whether archived ones are shown too."""


def new_run_values(run_id: str, spec: RunSpec, now: datetime, parent_id: str | None) -> dict[str, Any]:
    """The row of a run that was just submitted, or cloned from another."""
    return {
        "id": run_id,
        "name": spec.name,
        "kind": RunKind.MANAGED,
        "state": RunState.QUEUED,
        "spec": spec.model_dump_json(),
        "batch_policy": batch_policy(spec.batch),
        "parallelism": layout(spec.parallelism),
        "parent_id": parent_id,
        "created_at": now,
        "state_changed_at": now,
    }


def new_external_run_values(run_id: str, name: str, config: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The row of a run that another framework records; secrets are not kept of its config."""
    return {
        "id": run_id,
        "name": name,
        "kind": RunKind.EXTERNAL,
        "state": RunState.QUEUED,
        "spec": orjson.dumps(without_secrets(config)).decode(),
        "batch_policy": "",
        "parallelism": "",
        "created_at": now,
        "state_changed_at": now,
    }


def batch_policy(batch: BatchSpec) -> str:
    """The batch policy in a few words.

    >>> batch_policy(FixedBatchSpec(type="fixed", global_batch_size=64))
    'fixed 64'
    """
    return f"fixed {batch.global_batch_size}" if isinstance(batch, FixedBatchSpec) else batch.type


def layout(parallelism: ParallelismSpec) -> str:
    """The parallel layout in a few words.

    >>> layout(ParallelismSpec(dp=2, tp=2))
    'dp 2, tp 2'
    """
    sizes = {axis: getattr(parallelism, axis) for axis in ("dp", "tp", "pp", "vpp", "cp")}
    return ", ".join(f"{axis} {size}" for axis, size in sizes.items() if axis == "dp" or size > 1)


def run_key(connection: Connection, run: str) -> int:
    """The key of a run by its id or, failing that, of the newest run of that name. Raises NotFoundError."""
    by = runs.c.id if is_run_id(run) else runs.c.name
    query = select(runs.c.key).where(by == run, runs.c.deleted_at.is_(None))
    key = connection.scalar(query.order_by(runs.c.key.desc()).limit(1))
    if key is None:
        raise NotFoundError(f"There is no run with the {'id' if is_run_id(run) else 'name'} {run!r}.")
    return int(key)


def deleted_run(connection: Connection, run: str) -> Row[Any]:
    """The row of a run that was deleted, by its id, or the newest of that name.

    Raises ConflictError when it is there, NotFoundError when there is nothing of it.
    """
    by = runs.c.id if is_run_id(run) else runs.c.name
    query = select(runs).where(by == run, runs.c.deleted_at.is_not(None)).order_by(runs.c.key.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    if row is None:
        run_key(connection, run)
        raise ConflictError("not-deleted", "The run is not deleted.")
    return row


def resume_step(connection: Connection, run_key: int) -> int | None:
    """The checkpoint that the run's next attempt begins at; None: the newest there is."""
    row = connection.execute(
        select(runs.c.resume_step, runs.c.attempts_before_retry).where(runs.c.key == run_key)
    ).one()
    return known_checkpoints.resume_step(
        connection, run_key, asked=row.resume_step, retried_attempt=row.attempts_before_retry
    )


def runs_in(connection: Connection, states: Iterable[RunState], kind: RunKind) -> tuple[RunRecord, ...]:
    chosen = select(runs).where(runs.c.state.in_(list(states)), runs.c.kind == kind)
    rows = connection.execute(chosen.order_by(runs.c.key))
    return tuple(_run_record(row) for row in rows)


def run_record(connection: Connection, run: str) -> RunRecord:
    return _run_record(connection.execute(select(runs).where(runs.c.key == run_key(connection, run))).one())


def attempt_record(connection: Connection, run: str, number: int) -> AttemptRecord:
    row = connection.execute(
        select(attempts, runs.c.id)
        .join(runs)
        .where(attempts.c.run_key == run_key(connection, run), attempts.c.number == number)
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"Run {run} has no attempt {number}.")
    return AttemptRecord(
        run_id=row.id,
        number=row.number,
        created_at=row.created_at,
        job_id=row.job_id,
        last_heartbeat_at=row.last_heartbeat_at,
        outcome=row.outcome,
        reason=row.reason,
        ended_at=row.ended_at,
    )


def spec(connection: Connection, run: str) -> RunSpec:
    text = connection.scalar(select(runs.c.spec).where(runs.c.key == run_key(connection, run)))
    return RunSpec.model_validate_json(text or "")


def run_detail(connection: Connection, run: str) -> Run:
    """One run with its spec, or with its config. Raises NotFoundError."""
    row = connection.execute(select(runs).where(runs.c.key == run_key(connection, run))).one()
    summary = _summary(row, _tags(connection, [row.key]).get(row.key, {}))
    is_managed = row.kind == RunKind.MANAGED
    return Run(
        **dict(summary),
        spec=RunSpec.model_validate_json(row.spec) if is_managed else None,
        config=None if is_managed else orjson.loads(row.spec),
        version=row.version,
    )


def summaries(connection: Connection, run_ids: Sequence[str]) -> list[RunSummary]:
    """The runs with these ids, as far as they exist."""
    known = select(runs).where(runs.c.id.in_(run_ids), runs.c.deleted_at.is_(None))
    return _summaries(connection, known.order_by(runs.c.key))


def page(
    connection: Connection, filter_: RunFilter, sort: RunSort, *, after: Place | None, limit: int
) -> tuple[list[RunSummary], Place | None]:
    """The matching runs after a place, and the place after which the next page begins, if there is one."""
    # First the keys alone: sorting whole rows, specs included, takes many times as long.
    places = select(sort.value, runs.c.key).where(_matches(filter_)).order_by(*sort.order_by).limit(limit + 1)
    if after is not None:
        places = places.where(sort.after(*after))
    found = [(row[0], row[1]) for row in connection.execute(places)]
    keys = [key for _, key in found[:limit]]
    rows = {row.key: row for row in connection.execute(select(runs).where(runs.c.key.in_(keys)))}
    tags = _tags(connection, keys)
    items = [_summary(rows[key], tags.get(key, {})) for key in keys]
    return items, found[limit - 1] if len(found) > limit else None


def count(connection: Connection, filter_: RunFilter) -> int:
    return connection.scalar(select(func.count()).select_from(runs).where(_matches(filter_))) or 0


def count_by_state(connection: Connection, filter_: RunFilter) -> dict[RunState, int]:
    """How many runs match in each state. Every state has an entry."""
    rows = connection.execute(select(runs.c.state, func.count()).where(_matches(filter_)).group_by(runs.c.state)).all()
    found = {row[0]: row[1] for row in rows}
    return {state: found.get(state, 0) for state in RunState}


def _matches(filter_: RunFilter) -> ColumnElement[bool]:
    terms: list[ColumnElement[bool]] = [runs.c.deleted_at.is_(None)]
    if not filter_.archived:
        terms.append(runs.c.archived_at.is_(None))
    if filter_.states:
        terms.append(runs.c.state.in_(filter_.states))
    if filter_.name is not None:
        terms.append(runs.c.name == filter_.name)
    if filter_.text:
        terms.append(or_(runs.c.name.icontains(filter_.text, autoescape=True), runs.c.id == filter_.text))
    for text in filter_.tags:
        # Where the tag ends and the value begins is not told by the text: either may hold a `=`.
        is_named = or_(run_tags.c.tag == text, run_tags.c.tag + "=" + run_tags.c.value == text)
        terms.append(exists().where(run_tags.c.run_key == runs.c.key, is_named))
    return and_(*terms)


def _summaries(connection: Connection, query: Select[Any]) -> list[RunSummary]:
    rows = connection.execute(query).all()
    tags = _tags(connection, [row.key for row in rows])
    return [_summary(row, tags.get(row.key, {})) for row in rows]


def _tags(connection: Connection, keys: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for row in connection.execute(select(run_tags).where(run_tags.c.run_key.in_(keys)).order_by(run_tags.c.tag)):
        found.setdefault(row.run_key, {})[row.tag] = row.value
    return found


def _summary(row: Row[Any], tags: dict[str, str]) -> RunSummary:
    return RunSummary(
        id=row.id,
        name=row.name,
        kind=RunKind(row.kind),
        state=RunState(row.state),
        reason=row.reason,
        activity=row.activity,
        tags=tags,
        batch_policy=row.batch_policy or None,
        parallelism=row.parallelism or None,
        attempt=row.attempt,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        last_heartbeat_at=row.last_heartbeat_at,
        num_steps=row.num_steps,
        total_steps=row.total_steps,
        last=None if row.last_step is None else LastStep.model_validate_json(row.last_step),
        parent_id=row.parent_id,
        priority=row.priority,
        archived_at=row.archived_at,
        batch_sizes=() if row.sparkline is None else tuple(orjson.loads(row.sparkline)["values"]),
    )


def _run_record(row: Row[Any]) -> RunRecord:
    return RunRecord(
        id=row.id,
        name=row.name,
        kind=RunKind(row.kind),
        state=RunState(row.state),
        attempt=row.attempt,
        created_at=row.created_at,
        state_changed_at=row.state_changed_at,
        last_heartbeat_at=row.last_heartbeat_at,
        priority=row.priority,
        stop_mode=row.stop_mode,
        stop_requested_at=row.stop_requested_at,
    )
