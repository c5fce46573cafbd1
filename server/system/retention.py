"""Takes old samples of a machine away. Called by the server's retention."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select, tuple_

from server.database.tables import system_samples


def prune_system_samples(connection: Connection, *, run_key: int, taken_before: datetime, limit: int = 5_000) -> int:
    """Take away up to `limit` of a run's samples from before a moment. Returns how many.

    Call it again until it returns less than `limit`; each call is one short transaction.
    """
    key = (system_samples.c.run_key, system_samples.c.attempt, system_samples.c.number)
    chosen = select(*key).where(system_samples.c.run_key == run_key, system_samples.c.at < taken_before).limit(limit)
    return connection.execute(delete(system_samples).where(tuple_(*key).in_(chosen))).rowcount
