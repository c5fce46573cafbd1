"""Keeps who changed what. Called by the route class after each change that was let through, before it is answered."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import insert, select

from server.audit.schemas import AuditEvent, AuditPage
from server.database.engine import Database
from server.database.tables import audit_events
from server.database.writer import Transaction, Writer

_MAX_PATH_CHARACTERS = 500


class AuditLog:
    """Safe from any thread."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer

    def note(self, *, actor: str, operation: str, path: str, status: int, request_id: str) -> None:
        """Keep one change. Returns after commit."""
        values = {
            "at": datetime.now(UTC),
            "actor": actor,
            "operation": operation,
            "path": path[:_MAX_PATH_CHARACTERS],
            "status": status,
            "request_id": request_id,
        }

        def work(transaction: Transaction) -> None:
            transaction.connection.execute(insert(audit_events).values(values))

        self._writer.run(work)

    def page(self, *, before: int | None, limit: int) -> AuditPage:
        """Events below an id, newest first."""
        query = select(audit_events).order_by(audit_events.c.id.desc()).limit(limit + 1)
        if before is not None:
            query = query.where(audit_events.c.id < before)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        items = tuple(AuditEvent(**row._mapping) for row in rows[:limit])
        return AuditPage(items=items, next_before=items[-1].id if len(rows) > limit else None)
