"""Takes old log lines away. Called by the server's retention."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from server.database.tables import log_lines


def prune_logs(connection: Connection, *, run_key: int, written_before: datetime, limit: int = 5_000) -> int:
    """Take away up to `limit` of a run's oldest lines that were written before a moment. Returns how many.

    Call it again until it returns less than `limit`; each call is one short transaction.
    """
    oldest = select(log_lines.c.id).where(log_lines.c.run_key == run_key, log_lines.c.at < written_before).limit(limit)
    return connection.execute(delete(log_lines).where(log_lines.c.id.in_(oldest))).rowcount
