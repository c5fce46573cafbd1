"""Long runs and many runs, written straight into the tables: what is only read need not be recorded step by step."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from server.database.engine import Database
from server.database.tables import PointKind, attempts, metric_names, points, runs, steps
from server.ingest.rollup_rows import keep_rollups

NAME = "train/loss"
SPIKE = 5.0
_STEPS_AT_ONCE = 1_000_000


def fill_long_run(database: Database, run_id: str, *, num_steps: int, spikes: Sequence[int] = ()) -> None:
    """Continue a run, which has step 0 and the metric, up to that many steps: 1.0 everywhere but at the spikes."""
    with database.write_engine.begin() as connection:
        key = connection.scalar(sa.select(runs.c.key).where(runs.c.id == run_id))
        mine = (metric_names.c.run_key == key, metric_names.c.name == NAME)
        metric_id = connection.scalar(sa.select(metric_names.c.id).where(*mine))
        for begin in range(1, num_steps, _STEPS_AT_ONCE):
            end = min(begin + _STEPS_AT_ONCE, num_steps)
            _repeat_step(connection, key, begin, end)
            _add_points(connection, metric_id, begin, end)
        at_spike = (points.c.metric_id == metric_id, points.c.step.in_(list(spikes)))
        connection.execute(sa.update(points).where(*at_spike).values(value=SPIKE))
        connection.execute(sa.update(runs).where(runs.c.key == key).values(num_steps=num_steps))
    _roll_up(database, key)


def fill_many_runs(database: Database, run_id: str, *, num_runs: int) -> None:
    """Copies of one run, without its steps."""
    copied = [column for column in runs.c if column.name not in ("key", "id")]
    with database.write_engine.begin() as connection:
        numbers = _numbers(0, num_runs)
        # Each id is 30 characters, as real ones are.
        made = sa.literal("run_") + sa.func.substr(sa.cast(numbers.c.n + 10**15, sa.Text), 1, 16) + "0000000000"
        rows = sa.select(made, *copied).select_from(runs.join(numbers, sa.true())).where(runs.c.id == run_id)
        connection.execute(sa.insert(runs).from_select(["id", *(column.name for column in copied)], rows))


def _repeat_step(connection: Connection, key: int | None, begin: int, end: int) -> None:
    """Copies of step 0 with other numbers; samples and time go on."""
    # As the database holds it: moments are microseconds there.
    names = list(steps.c.keys())
    query = f"SELECT {', '.join(names)} FROM steps WHERE run_key = {key} AND step = 0"
    first = dict(zip(names, connection.exec_driver_sql(query).one(), strict=True))
    n, microseconds = (numbers := _numbers(begin, end)).c.n, 1_000_000
    moved = {
        "step": n,
        "iteration": n,
        "started_at": first["started_at"] + n * microseconds,
        "ended_at": first["ended_at"] + n * microseconds,
        "samples_total": first["samples_total"] * (n + 1),
        "tokens_total": first["tokens_total"] * (n + 1),
    }
    # Constants: to read the table that grows would copy everything twice.
    rows = sa.select(*(moved.get(name, sa.literal(value)) for name, value in first.items())).select_from(numbers)
    connection.execute(sa.insert(steps).from_select(list(first), rows))


def _add_points(connection: Connection, metric_id: int | None, begin: int, end: int) -> None:
    numbers = _numbers(begin, end)
    row = {"metric_id": metric_id, "attempt": 1, "value": 1.0, "kind": int(PointKind.FINITE), "weight": 1.0}
    rows = sa.select(numbers.c.n, *(sa.literal(value) for value in row.values()))
    connection.execute(sa.insert(points).from_select(["step", *row], rows))


def _numbers(begin: int, end: int) -> sa.CTE:
    counted = sa.select(sa.literal(begin, sa.BigInteger).label("n")).cte("numbers", recursive=True)
    return counted.union_all(sa.select(counted.c.n + 1).where(counted.c.n < end - 1))


def _roll_up(database: Database, key: int | None) -> None:
    """What the server sums up while steps arrive, of all steps at last."""
    rolled_up_to = sa.select(attempts.c.rolled_up_to).where(attempts.c.run_key == key)
    before = -1
    while True:
        with database.write_engine.begin() as connection:
            now = connection.scalar(rolled_up_to)
            if now == before or now is None or key is None:
                return
            before = now
            keep_rollups(connection, key, 1, first_new=now)
