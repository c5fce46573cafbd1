"""Takes old timelines and schedules away. Called by the server's retention; the steps themselves stay."""

from __future__ import annotations

from sqlalchemy import Connection, Table, delete, select, tuple_

from server.database.tables import schedules, timelines


def prune_timelines(connection: Connection, *, run_key: int, before_step: int, limit: int = 500) -> int:
    """Take away up to `limit` of a run's timelines of steps below a number. Returns how many.

    Call it again until it returns less than `limit`; each call is one short transaction.
    """
    return _prune(connection, timelines, run_key, before_step, limit)


def prune_schedules(connection: Connection, *, run_key: int, before_step: int, limit: int = 500) -> int:
    """As `prune_timelines`, of schedules."""
    return _prune(connection, schedules, run_key, before_step, limit)


def _prune(connection: Connection, table: Table, run_key: int, before_step: int, limit: int) -> int:
    key = tuple_(table.c.run_key, table.c.attempt, table.c.step)
    chosen = select(table.c.run_key, table.c.attempt, table.c.step).where(
        table.c.run_key == run_key, table.c.step < before_step
    )
    return connection.execute(delete(table).where(key.in_(chosen.limit(limit)))).rowcount
