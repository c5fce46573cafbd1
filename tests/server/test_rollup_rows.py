from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from server.database.tables import attempts, metric_names, points, runs, steps
from server.database.writer import Transaction
from server.ingest.rollup_rows import keep_rollups
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer

pytestmark = pytest.mark.stack

NAMES = ["loss", "sometimes", "global_batch_size", "lr"]


def test_a_history_by_rollups_equals_one_by_points(server: LiveServer) -> None:
    run = server.launch()
    for first in range(0, 640, 160):
        server.record(run, *(_step(i) for i in range(first, first + 160)))
    assert _rolled_up_to(server, run) == 576
    queries = [
        {"run": run.id, "name": NAMES, "x": x, "max_points": max_points, "agg": agg}
        for x in ("step", "samples", "time")
        for max_points in (1, 3, 9)
        for agg in ("minmax", "last")
    ]
    queries += [queries[0] | {"from": 70, "to": 500}, queries[0] | {"x": "samples", "from": 150, "to": 1100}]
    by_rollups = [server.get("/metrics/query", **query)["series"] for query in queries]
    catalogue = server.get(f"/runs/{run.id}/metrics")
    _set_rolled_up_to(server, run, 0)
    for query, found in zip(queries, by_rollups, strict=True):
        plain = server.get("/metrics/query", **query)["series"]
        if query["x"] == "step":
            _assert_same(found, plain)
        for one, other in zip(found, plain, strict=True):
            assert sum(one["weight"]) == pytest.approx(sum(other["weight"]))
            if query["agg"] == "minmax":
                assert (min(one["min"]), max(one["max"])) == (min(other["min"]), max(other["max"]))
            assert (one["total"], one["sampled"]) == (other["total"], other["sampled"])
            assert len(one["x"]) <= query["max_points"]
    assert catalogue == server.get(f"/runs/{run.id}/metrics")


def test_a_zoom_into_what_is_rolled_up_is_exact(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(_step(i) for i in range(400)))
    total = {i: 2 * (i + 1) for i in range(400)}
    for axis, low, high in (("step", 100, 164), ("samples", total[100], total[163] + 1)):
        query = {"run": run.id, "name": "loss", "x": axis, "from": low, "to": high, "max_points": 64}
        series = server.get("/metrics/query", **query)["series"][0]
        assert (series["sampled"], series["step"]) == (False, list(range(100, 164))), axis
    relative = server.get("/metrics/query", run=run.id, name="loss", x="relative", **{"from": 101, "to": 110})
    assert relative["series"][0]["step"] == list(range(100, 109))


def test_a_step_that_arrives_late_is_in_the_rollups_too(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(_step(i) for i in range(300) if i != 70))
    assert _rolled_up_to(server, run) == 256
    server.record(run, step_message(70, lengths=(5, 6), metrics={"loss": metric(1e6)}))
    series = server.get("/metrics/query", run=run.id, name=["loss", "num_tokens"], max_points=2, x="samples")["series"]
    assert [(s["total"], max(s["max"])) for s in series] == [(300, 1e6), (300, 11)]
    assert _rolled_up_to(server, run) == 256


def test_numbers_that_jump_do_not_keep_the_rollups_from_going_on(server: LiveServer) -> None:
    run = server.launch()
    far = 2**52 // 64 * 64
    server.record(run, _step(0), *(_step(far + i) for i in range(260)))
    server.record(run, _step(far + 260))
    assert _rolled_up_to(server, run) == far + 256
    series = server.get("/metrics/query", run=run.id, name="loss", max_points=10)["series"][0]
    assert (series["total"], series["step"][0], series["last_step"][-1]) == (262, 0, far + 260)


def test_a_resumed_run_is_read_from_both_attempts_with_the_cut_inside_a_rollup(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(_step(i) for i in range(200)))
    second = server.next_attempt(run)
    server.record(second, *(_step(i) for i in range(100, 400)))
    found = server.get("/metrics/query", run=run.id, name="loss", max_points=5, superseded="true")["series"]
    assert [(s["attempt"], s["superseded"], s["total"]) for s in found] == [
        (1, False, 100),
        (2, False, 300),
        (1, True, 100),
    ]
    info = next(item for item in server.get(f"/runs/{run.id}/metrics")["items"] if item["name"] == "loss")
    assert (info["num_points"], info["first_step"], info["last_step"]) == (400, 0, 399)


def test_a_million_points_cost_at_most_twice_what_a_hundred_thousand_do(sqlite_server: LiveServer) -> None:
    few, many = sqlite_server.launch(), sqlite_server.launch()
    _store_long_series(sqlite_server, few, 100_000)
    _store_long_series(sqlite_server, many, 1_000_000)

    def cost_s(run: LaunchedRun) -> float:
        times = []
        for _ in range(7):
            began = time.perf_counter()
            series = sqlite_server.get("/metrics/query", run=run.id, name="m")["series"][0]
            times.append(time.perf_counter() - began)
        assert series["sampled"]
        assert max(series["max"]) == 5.0
        return min(times)

    assert cost_s(many) <= 2 * cost_s(few)


def _step(step: int) -> Any:
    values = {"loss": metric(float(step % 97), weight=1.0 + step % 3)}
    if step % 50 == 0:
        values["sometimes"] = metric(["NaN", 1.0, "Infinity"][step // 50 % 3])
    return step_message(step, lengths=(5, 6), metrics=values)


def _assert_same(found: Sequence[Any], plain: Sequence[Any]) -> None:
    for one, other in zip(found, plain, strict=True):
        assert one.keys() == other.keys()
        for name, column in one.items():
            numbers = isinstance(column, list) and column and not isinstance(column[0], dict)
            assert column == (pytest.approx(other[name], rel=1e-9) if numbers else other[name]), name


def _rolled_up_to(server: LiveServer, run: LaunchedRun) -> int:
    with server.services.database.read() as connection:
        query = select(attempts.c.rolled_up_to).join(runs).where(runs.c.id == run.id, attempts.c.number == run.attempt)
        return int(connection.execute(query).scalar_one())


def _set_rolled_up_to(server: LiveServer, run: LaunchedRun, step: int) -> None:
    def work(transaction: Transaction) -> None:
        key = select(runs.c.key).where(runs.c.id == run.id).scalar_subquery()
        transaction.connection.execute(update(attempts).where(attempts.c.run_key == key).values(rolled_up_to=step))

    server.services.writer.run(work)


def _store_long_series(server: LiveServer, run: LaunchedRun, num_steps: int) -> None:
    server.record(run, step_message(0, metrics={}))

    def work(transaction: Transaction) -> None:
        connection = transaction.connection
        key = connection.execute(select(runs.c.key).where(runs.c.id == run.id)).scalar_one()
        connection.execute(insert(metric_names).values(run_key=key, name="m", reduction="mean"))
        metric_id = connection.execute(select(metric_names.c.id).where(metric_names.c.run_key == key)).scalar_one()
        rows = ((metric_id, 1, i, 5.0 if i == 777 else 1.0, 0, 1.0) for i in range(num_steps))
        connection.exec_driver_sql(f"INSERT INTO {points.name} VALUES (?, ?, ?, ?, ?, ?)", list(rows))
        first = dict(connection.execute(select(steps).where(steps.c.run_key == key)).mappings().one())
        names = ", ".join(first)
        marks = ", ".join("?" * len(first))
        raw = connection.exec_driver_sql(f"SELECT {names} FROM steps WHERE run_key = ?", (key,)).one()
        place = list(first).index("step")
        # One step in each stretch is enough for the rollups to go on.
        more = [(*raw[:place], i, *raw[place + 1 :]) for i in range(64, num_steps, 64)]
        connection.exec_driver_sql(f"INSERT INTO steps ({names}) VALUES ({marks})", more)
        for _ in range(num_steps // 4096 + 1):
            keep_rollups(connection, key, 1, first_new=num_steps)

    server.services.writer.run(work)
