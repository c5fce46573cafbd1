"""All SQL of retention: what is due, what is taken away in one chunk, and what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from server.database.tables import log_lines, pruned_records, runs, steps, to_microseconds
from server.retention.limits import RecordKind, limit_sentence
from server.retention.schemas import PrunedRecords
from server.rollouts.retention import prune_rollouts
from server.steps.lineage import current_view, in_segments, run_segments
from server.system.retention import prune_system_samples
from server.timeline.retention import prune_schedules, prune_timelines


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRun:
    """A run whose records may be too many."""

    key: int
    mark: tuple[int, int, datetime | None]
    """Changes whenever something was recorded of it."""
    newest_step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a run has too much of. `up_to` is told to clients; `prune` takes one chunk away and returns its size."""

    kind: RecordKind
    up_to: int
    kept: int
    chunk: int
    prune: Callable[[Connection, int], int]


def watched_runs(connection: Connection) -> list[WatchedRun]:
    """All runs, oldest first."""
    columns = (runs.c.key, runs.c.version, runs.c.num_steps, runs.c.last_heartbeat_at, runs.c.last_step)
    rows = connection.execute(select(*columns).where(runs.c.deleted_at.is_(None)).order_by(runs.c.key))
    return [
        WatchedRun(
            key=row.key,
            mark=(row.version, row.num_steps, row.last_heartbeat_at),
            newest_step=None if row.last_step is None else orjson.loads(row.last_step)["step"],
        )
        for row in rows
    ]


def due(connection: Connection, run: WatchedRun, kind: RecordKind, kept: int, now: datetime) -> Due | None:
    """What is to be taken away of one kind, or None. Nothing is changed."""
    match kind:
        case RecordKind.LOGS:
            return _due_lines(connection, run.key, kept)
        case RecordKind.SYSTEM:
            return _due_samples(run.key, kept, now)
        case _:
            return _due_steps(connection, run, kind, kept, now)


def note_pruned(connection: Connection, run_key: int, pruned: Due, *, count: int, now: datetime) -> None:
    """Keep what was taken away, so that whoever looks for it is told why it is not there."""
    mine = (pruned_records.c.run_key == run_key, pruned_records.c.kind == pruned.kind)
    known = connection.execute(select(pruned_records).where(*mine)).one_or_none()
    values = {"up_to": pruned.up_to, "kept": pruned.kept, "at": now}
    if known is None:
        row = {"run_key": run_key, "kind": pruned.kind, "num_removed": count, **values}
        connection.execute(insert(pruned_records).values(row))
        return
    values["up_to"] = max(known.up_to, pruned.up_to)
    connection.execute(update(pruned_records).where(*mine).values(num_removed=known.num_removed + count, **values))


def pruned(connection: Connection, run_key: int) -> list[PrunedRecords]:
    """What was taken away of a run, by kind."""
    query = select(pruned_records).where(pruned_records.c.run_key == run_key).order_by(pruned_records.c.kind)
    return [
        PrunedRecords(
            kind=RecordKind(row.kind),
            up_to=row.up_to,
            num_removed=row.num_removed,
            limit=row.kept,
            at=row.at,
            message=limit_sentence(RecordKind(row.kind), row.kept),
        )
        for row in connection.execute(query)
    ]


def why_not_kept(connection: Connection, run_key: int, kind: RecordKind, place: int) -> str | None:
    """`not kept (limit …)` of the record at a step, or None when retention has not taken it away."""
    kept = connection.scalar(
        select(pruned_records.c.kept).where(
            pruned_records.c.run_key == run_key, pruned_records.c.kind == kind, pruned_records.c.up_to > place
        )
    )
    return None if kept is None else limit_sentence(kind, kept)


def _due_steps(connection: Connection, run: WatchedRun, kind: RecordKind, kept: int, now: datetime) -> Due | None:
    if run.newest_step is None or run.newest_step < kept:
        return None
    up_to = run.newest_step - kept + 1
    if kind is RecordKind.ROLLOUTS:
        return _due_rollouts(connection, run.key, up_to, kept, now)
    prune_some = prune_schedules if kind is RecordKind.SCHEDULES else prune_timelines

    def prune(writing: Connection, limit: int) -> int:
        return prune_some(writing, run_key=run.key, before_step=up_to, limit=limit)

    return Due(kind=kind, up_to=up_to, kept=kept, chunk=200, prune=prune)


def _due_rollouts(connection: Connection, run_key: int, up_to: int, kept: int, now: datetime) -> Due | None:
    """Those of iterations that were over before the first step that is kept began."""
    view = in_segments(run_key, current_view(run_segments(connection, run_key)))
    began = connection.scalar(
        select(steps.c.started_at).where(view, steps.c.step >= up_to).order_by(steps.c.step).limit(1)
    )
    if began is None:
        return None
    # An iteration may end in the very moment in which the next one begins.
    just_after = began + timedelta(microseconds=1)

    def prune(writing: Connection, limit: int) -> int:
        return prune_rollouts(writing, now=now, run_key=run_key, ended_before=just_after, limit=limit)

    return Due(kind=RecordKind.ROLLOUTS, up_to=up_to, kept=kept, chunk=5, prune=prune)


def _due_lines(connection: Connection, run_key: int, kept: int) -> Due | None:
    count = connection.scalar(select(func.count()).select_from(log_lines).where(log_lines.c.run_key == run_key)) or 0
    if count <= kept:
        return None
    mine = select(log_lines.c.id).where(log_lines.c.run_key == run_key).order_by(log_lines.c.id)
    last_id = connection.execute(mine.offset(count - kept - 1).limit(1)).scalar_one()

    def prune(writing: Connection, limit: int) -> int:
        oldest = mine.where(log_lines.c.id <= last_id).limit(limit)
        return writing.execute(delete(log_lines).where(log_lines.c.id.in_(oldest))).rowcount

    return Due(kind=RecordKind.LOGS, up_to=last_id + 1, kept=kept, chunk=2_000, prune=prune)


def _due_samples(run_key: int, kept: int, now: datetime) -> Due:
    before = now - timedelta(days=kept)

    def prune(writing: Connection, limit: int) -> int:
        return prune_system_samples(writing, run_key=run_key, taken_before=before, limit=limit)

    return Due(kind=RecordKind.SYSTEM, up_to=to_microseconds(before), kept=kept, chunk=2_000, prune=prune)
