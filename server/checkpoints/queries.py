"""All SQL that reads checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, or_, select

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from server.checkpoints.schemas import CheckpointOut
from server.database.tables import attempts, checkpoints

_FIELDS = tuple(CheckpointMessage.model_fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFilter:
    """Which checkpoints a list shows."""

    removed: bool | None = None
    attempt: int | None = None


def page(
    connection: Connection, run_key: int, filter_: CheckpointFilter, *, below: tuple[int, int] | None, limit: int
) -> tuple[tuple[CheckpointOut, ...], tuple[int, int] | None]:
    """Checkpoints below a place (step, attempt), the highest first, and the place of the last one if there are more."""
    query = select(checkpoints).where(checkpoints.c.run_key == run_key)
    if filter_.removed is not None:
        query = query.where(checkpoints.c.removed == filter_.removed)
    if filter_.attempt is not None:
        query = query.where(checkpoints.c.attempt == filter_.attempt)
    if below is not None:
        step, attempt = below
        same = and_(checkpoints.c.step == step, checkpoints.c.attempt < attempt)
        query = query.where(or_(checkpoints.c.step < step, same))
    query = query.order_by(checkpoints.c.step.desc(), checkpoints.c.attempt.desc()).limit(limit + 1)
    rows = connection.execute(query).all()
    began = _first_steps(connection, run_key)
    items = tuple(
        CheckpointOut(
            **{name: getattr(row, name) for name in _FIELDS},
            attempt=row.attempt,
            # At the first step of a later attempt is what that one went on from.
            superseded=any(number > row.attempt and first < row.step for number, first in began),
        )
        for row in rows[:limit]
    )
    return items, (items[-1].step, items[-1].attempt) if len(rows) > limit else None


def _first_steps(connection: Connection, run_key: int) -> list[tuple[int, int]]:
    rows = connection.execute(
        select(attempts.c.number, attempts.c.first_step).where(
            attempts.c.run_key == run_key, attempts.c.first_step.is_not(None)
        )
    )
    return [(row.number, row.first_step) for row in rows]
