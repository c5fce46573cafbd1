"""All SQL that stores a driver's events."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, insert, select

from orchestrator.contracts.messages import EventMessage
from server.database.tables import events
from server.errors import ConflictError


def insert_events(connection: Connection, run_key: int, attempt: int, messages: Sequence[EventMessage]) -> int:
    """Store those that are new, and return their number. Raises ConflictError for a key with other content."""
    known = {
        row.key: row.content_hash
        for row in connection.execute(
            select(events.c.key, events.c.content_hash).where(
                events.c.run_key == run_key,
                events.c.attempt == attempt,
                events.c.key.in_([message.key for message in messages]),
            )
        )
    }
    rows = []
    for i, message in enumerate(messages):
        content_hash = _content_hash(message)
        stored = known.setdefault(message.key, content_hash)
        if stored != content_hash:
            told = f"Event {message.key!r} of this attempt is recorded with other content."
            raise ConflictError("conflicting-event", told, pointer=f"/events/{i}")
        if stored is content_hash:
            rows.append(
                {
                    "run_key": run_key,
                    "attempt": attempt,
                    "key": message.key,
                    "content_hash": content_hash,
                    "kind": message.kind,
                    "at": message.at,
                    "message": message.message,
                    "data": orjson.dumps(message.data).decode(),
                }
            )
    if rows:
        connection.execute(insert(events), rows)
    return len(rows)


def _content_hash(message: EventMessage) -> bytes:
    return hashlib.sha256(orjson.dumps(message.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).digest()
