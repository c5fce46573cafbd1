"""Takes texts and tokens of old rollouts away. Called by the server's retention; books and rewards stay."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select, update

from server.database.tables import iterations, rollout_groups, rollout_tokens


def prune_rollouts(
    connection: Connection,
    *,
    now: datetime,
    run_key: int | None = None,
    before_iteration: int | None = None,
    ended_before: datetime | None = None,
    limit: int = 10,
) -> int:
    """Take away what the oldest `limit` matching iterations keep of texts and tokens. Returns how many there were.

    Call it again until it returns less than `limit`; each call is one short transaction.

    run_key: only of this run. before_iteration, ended_before: only iterations below, or that ended earlier.
    """
    terms = [iterations.c.pruned_at.is_(None), iterations.c.num_recorded_rollouts > 0]
    if run_key is not None:
        terms.append(iterations.c.run_key == run_key)
    if before_iteration is not None:
        terms.append(iterations.c.iteration < before_iteration)
    if ended_before is not None:
        terms.append(iterations.c.ended_at < ended_before)
    places = connection.execute(
        select(iterations.c.run_key, iterations.c.attempt, iterations.c.iteration)
        .where(*terms)
        .order_by(iterations.c.run_key, iterations.c.attempt, iterations.c.iteration)
        .limit(limit)
    ).all()
    for place in places:
        key = tuple(place)
        connection.execute(delete(rollout_tokens).where(_of(rollout_tokens, key)))
        connection.execute(update(rollout_groups).where(_of(rollout_groups, key)).values(texts=None))
        connection.execute(update(iterations).where(_of(iterations, key)).values(pruned_at=now))
    return len(places)


def _of(table: Table, key: tuple[int, int, int]) -> ColumnElement[bool]:
    names = ("run_key", "attempt", "iteration")
    return and_(*(table.c[name] == value for name, value in zip(names, key, strict=True)))
