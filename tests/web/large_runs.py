"""Records as large as Swell is made for: what need not be recorded step by step is written into the tables."""

from __future__ import annotations

import sqlalchemy as sa

from bench.filled_tables import NAME, fill_long_run
from server.database.tables import PointKind, metric_names, points, runs
from tests.server.factories import metric
from tests.server.live_server import LaunchedRun, LiveServer
from tests.web.recorded_run import recorded_step


def record_long_run(server: LiveServer, *, name: str, num_steps: int, num_metrics: int) -> LaunchedRun:
    """A run with so many steps and metrics of its own; the newest step came as every step comes."""
    run = server.launch(name=name)
    first = recorded_step(0)
    others = {f"train/metric_{k:02}": metric(float(k)) for k in range(num_metrics - 1)}
    told = {NAME: first.metrics[NAME], **others}
    assert server.record(run, first.model_copy(update={"metrics": told})).status_code == 200
    _fill_other_metrics(server, run, num_steps - 1)
    fill_long_run(server.services.database, run.id, num_steps=num_steps - 1)
    newest = recorded_step(num_steps - 1).model_copy(update={"metrics": told})
    assert server.record(run, newest).status_code == 200
    return run


def _fill_other_metrics(server: LiveServer, run: LaunchedRun, num_steps: int) -> None:
    """Waves whose period is the metric's own, through 0 like anything that a logarithm has no room for."""
    with server.services.database.write_engine.begin() as connection:
        numbers = sa.select(sa.literal(1, sa.BigInteger).label("n")).cte("numbers", recursive=True)
        numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < num_steps - 1))
        own = metric_names.join(runs, metric_names.c.run_key == runs.c.key).join(numbers, sa.true())
        wave = sa.func.sin(numbers.c.n / (20.0 + metric_names.c.id))
        rows = (
            sa.select(
                metric_names.c.id, sa.literal(1), numbers.c.n, wave, sa.literal(int(PointKind.FINITE)), sa.literal(1.0)
            )
            .select_from(own)
            .where(runs.c.id == run.id, metric_names.c.name != NAME)
        )
        columns = ["metric_id", "attempt", "step", "value", "kind", "weight"]
        connection.execute(sa.insert(points).from_select(columns, rows))
