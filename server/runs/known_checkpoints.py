"""Which checkpoints a run may go on from, as far as its drivers have told."""

from __future__ import annotations

from sqlalchemy import Connection, select

from server.database.tables import checkpoints


def kept_steps(connection: Connection, run_key: int, *, after_attempt: int = 0) -> list[int]:
    """Steps of the checkpoints that are there, ascending.

    after_attempt: only of attempts after this one. What the newest attempt told of a step counts.
    """
    rows = connection.execute(
        select(checkpoints.c.step, checkpoints.c.removed)
        .where(checkpoints.c.run_key == run_key, checkpoints.c.attempt > after_attempt)
        .order_by(checkpoints.c.step, checkpoints.c.attempt)
    )
    newest = {row.step: row.removed for row in rows}
    return [step for step, removed in newest.items() if not removed]


def resume_step(connection: Connection, run_key: int, *, asked: int | None, retried_attempt: int) -> int | None:
    """The checkpoint that the next attempt begins at; None: the newest there is.

    asked: the step that somebody wanted the run to go on from. Later checkpoints of the attempts up to the one that was
    retried are of a curve that was given up: only what has been saved since goes before it.
    """
    if asked is None:
        return None
    since = kept_steps(connection, run_key, after_attempt=retried_attempt)
    return since[-1] if since else asked
