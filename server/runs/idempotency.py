"""All SQL over idempotency keys: a request that is sent again with its key makes nothing a second time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from server.database.tables import idempotency_keys
from server.errors import KeyReusedError

_KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A key as one client chose it, and what it asked for."""

    owner: str
    key: str
    content_hash: bytes


def known_run(connection: Connection, key: IdempotencyKey) -> str | None:
    """The run that this key made, or None. Raises KeyReusedError when it stands for another request."""
    row = connection.execute(
        select(idempotency_keys).where(idempotency_keys.c.owner == key.owner, idempotency_keys.c.key == key.key)
    ).one_or_none()
    if row is None:
        return None
    if row.content_hash != key.content_hash:
        raise KeyReusedError(f"The key {key.key!r} was sent with another body before; choose a new one.")
    run_id: str = row.run_id
    return run_id


def remember(connection: Connection, key: IdempotencyKey, run_id: str, now: datetime) -> None:
    """Keep the key for a day, and forget those that are older."""
    connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at < now - _KEPT_FOR))
    connection.execute(
        insert(idempotency_keys).values(
            owner=key.owner, key=key.key, content_hash=key.content_hash, run_id=run_id, created_at=now
        )
    )
