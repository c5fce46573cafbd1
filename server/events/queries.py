"""All SQL that reads events."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from server.database.tables import events, runs


def newest_event_ids(connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """The id of the newest event of each of these runs that has any."""
    newest = select(func.max(events.c.id)).where(events.c.run_key == runs.c.key).scalar_subquery()
    rows = connection.execute(select(runs.c.id, newest).where(runs.c.id.in_(run_ids)))
    return {row[0]: row[1] for row in rows if row[1] is not None}
