"""All SQL over idempotency keys: a request that is sent again with its key makes nothing a second time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from server.database.tables import idempotency_keys, runs
from server.errors import ConflictError, KeyReusedError

_KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A key as one client chose it, and what it asked for."""

    owner: str
    key: str
    content_hash: bytes


def known_run(connection: Connection, key: IdempotencyKey) -> str | None:
    """The run that this key made, or None. Raises KeyReusedError when it stands for another request.

    Raises ConflictError when the run was deleted.
    """
    row = connection.execute(
        select(idempotency_keys).where(idempotency_keys.c.owner == key.owner, idempotency_keys.c.key == key.key)
    ).one_or_none()
    if row is None:
        return None
    if row.content_hash != key.content_hash:
        raise KeyReusedError(f"The key {key.key!r} was sent with another body before; choose a new one.")
    run_id: str = row.run_id
    if connection.scalar(select(runs.c.key).where(runs.c.id == run_id, runs.c.deleted_at.is_(None))) is None:
        raise ConflictError(
            "run-deleted", f"The key {key.key!r} made run {run_id}, which was deleted; choose a new key."
        )
    return run_id


def remember(connection: Connection, key: IdempotencyKey, run_id: str, now: datetime) -> None:
    """Keep the key for a day, and forget those that are older."""
    connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at < now - _KEPT_FOR))
    connection.execute(
        insert(idempotency_keys).values(
            owner=key.owner, key=key.key, content_hash=key.content_hash, run_id=run_id, created_at=now
        )
    )
