"""Tells who changed what. `pending.py` writes it, in the transaction of the change."""

from __future__ import annotations

from sqlalchemy import select

from server.audit.schemas import AuditEvent, AuditPage
from server.database.engine import Database
from server.database.tables import audit_events


class AuditLog:
    """Safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, *, before: int | None, limit: int) -> AuditPage:
        """Events below an id, newest first."""
        query = select(audit_events).order_by(audit_events.c.id.desc()).limit(limit + 1)
        if before is not None:
            query = query.where(audit_events.c.id < before)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        items = tuple(AuditEvent(**row._mapping) for row in rows[:limit])
        return AuditPage(items=items, next_before=items[-1].id if len(rows) > limit else None)
