"""The note of the change that a request is about to make: written in the transaction of the change itself.

    route class sets it ──► endpoint ──► Writer.submit ──► [ change · note ] in one savepoint

Both are there or neither is. It travels with the request into the thread of its endpoint.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import insert

from server.database.tables import audit_events
from server.database.writer import Transaction, Work

T = TypeVar("T")

_MAX_PATH_CHARACTERS = 500


@dataclass(slots=True, kw_only=True)
class PendingNote:
    """Who asks for what. `status`: what the answer will be when the change is made."""

    actor: str
    operation: str
    path: str
    status: int
    request_id: str
    is_taken: bool = False
    """By the first write of the request; others belong to the same change."""


pending_note: ContextVar[PendingNote | None] = ContextVar("pending_note", default=None)


def with_note(work: Work[T]) -> Work[T]:
    """The work, and the note of the request that wants it. Called in the thread of the endpoint."""
    note = pending_note.get()
    if note is None or note.is_taken:
        return work
    note.is_taken = True

    def noted(transaction: Transaction) -> T:
        try:
            answer = work(transaction)
            _write(transaction, note)
        except Exception:
            note.is_taken = False
            raise
        return answer

    return noted


def _write(transaction: Transaction, note: PendingNote) -> None:
    values = {
        "at": datetime.now(UTC),
        "actor": note.actor,
        "operation": note.operation,
        "path": note.path[:_MAX_PATH_CHARACTERS],
        "status": note.status,
        "request_id": note.request_id,
    }
    transaction.connection.execute(insert(audit_events).values(values))
