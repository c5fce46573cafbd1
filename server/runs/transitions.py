"""The only place that changes a run's state: compare-and-set, with an event row in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from orchestrator.contracts.checkpoint_spec import LimitsSpec
from orchestrator.contracts.run_state import RunState, RunTrigger, next_state
from server.database.tables import events, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of state that took place."""

    run_key: int
    before: RunState
    after: RunState


def apply_trigger(
    connection: Connection,
    *,
    run_key: int,
    trigger: RunTrigger,
    now: datetime,
    reason: str | None = None,
    message: str | None = None,
    attempt: int | None = None,
) -> Transition | None:
    """Take the run to the state that follows, or return None when the trigger means nothing in its state.

    attempt: act only while this is the run's newest attempt.
    reason: kept as the run's reason, e.g. why it failed.
    message: what the event says; by default the reason, or the two states.
    """
    row = connection.execute(select(runs.c.state, runs.c.attempt).where(runs.c.key == run_key)).one()
    before = RunState(row.state)
    after = next_state(before, trigger)
    if after is None or (attempt is not None and attempt != row.attempt):
        return None
    changed = connection.execute(
        update(runs)
        .where(runs.c.key == run_key, runs.c.state == before, runs.c.attempt == row.attempt)
        .values(
            state=after,
            state_changed_at=now,
            version=runs.c.version + 1,
            reason=reason,
            **_moments(before, after, now),
        )
    )
    if changed.rowcount == 0:
        return None
    add_event(
        connection,
        run_key=run_key,
        attempt=row.attempt or None,
        kind=f"run.{after}",
        at=now,
        message=message or reason or f"{before} → {after}",
        data={"from": before, "to": after, "trigger": trigger},
    )
    return Transition(run_key=run_key, before=before, after=after)


def fail_or_restart(
    connection: Connection, *, run_key: int, now: datetime, reason: str | None, attempt: int | None = None
) -> Transition | None:
    """After a process of the run died: on to the next attempt, or to `failed` when limits.max_restarts is used up."""
    row = connection.execute(
        select(runs.c.attempt, runs.c.attempts_before_retry, runs.c.spec).where(runs.c.key == run_key)
    ).one()
    count = row.attempt - row.attempts_before_retry
    most = json.loads(row.spec).get("limits", {}).get("max_restarts", LimitsSpec().max_restarts)
    may_restart = count <= most
    return apply_trigger(
        connection,
        run_key=run_key,
        trigger=RunTrigger.RESTART if may_restart else RunTrigger.FAIL,
        now=now,
        reason=reason,
        message=f"restart {count} of at most {most}: {reason}" if may_restart else None,
        attempt=attempt,
    )


def add_event(
    connection: Connection,
    *,
    run_key: int,
    attempt: int | None,
    kind: str,
    at: datetime,
    message: str,
    data: Mapping[str, Any],
) -> None:
    """Add one of the server's own events to a run's history."""
    connection.execute(
        insert(events).values(
            run_key=run_key, attempt=attempt, kind=kind, at=at, message=message, data=json.dumps(dict(data))
        )
    )


def _moments(before: RunState, after: RunState, now: datetime) -> dict[str, Any]:
    if after.is_terminal:
        return {"ended_at": now, "activity": None}
    if after is RunState.QUEUED:
        # Its next attempt has not begun: neither waiting nor the time since the last one is time that it ran.
        return {"started_at": None, "ended_at": None}
    if after is RunState.STARTING and before is RunState.QUEUED:
        return {"started_at": now}
    return {}
