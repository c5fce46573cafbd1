from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert, select

from server.database.tables import PointKind, metric_names, points, runs
from server.database.writer import Transaction
from tests.server.cases import case
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from trainer.contracts.metric import Reduction

pytestmark = pytest.mark.stack


def test_every_spike_survives_and_a_zoom_is_exact(server: LiveServer) -> None:
    given = case("server.json", "spikes-survive")["given"]
    run = server.launch()
    values = [5.0 if step in given["spikes_of_5_at"] else given["value"] for step in range(given["steps"])]
    store_series(server, run, "train/loss", values)

    query = {"run": run.id, "name": "train/loss", "max_points": given["max_points"]}
    series = server.get("/metrics/query", **query)["series"][0]
    assert (series["sampled"], series["total"]) == (True, 20000)
    assert len(series["x"]) <= given["max_points"]
    assert (series["step"][0], series["last_step"][-1]) == (0, 19999)
    spikes = [
        (a, b) for a, b, high in zip(series["step"], series["last_step"], series["max"], strict=True) if high == 5
    ]
    assert len(spikes) == 4
    assert all(a <= at <= b for (a, b), at in zip(spikes, given["spikes_of_5_at"], strict=True))
    assert sum(series["weight"]) == 20000

    zoom = case("server.json", "zoom-is-exact")["given"]
    part = server.get("/metrics/query", **(query | zoom))["series"][0]
    assert (part["sampled"], part["min"]) == (False, None)
    assert part["step"] == list(range(4900, 5100))
    assert part["value"] == values[4900:5100]


def test_every_axis_tells_where_a_step_lies(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0, lengths=(5, 6)), step_message(1, lengths=(5, 6, 7)))
    start_s = 1767225600.0
    expected = {
        "step": [0, 1],
        "samples": [2, 5],
        "tokens": [11, 29],
        "time": [start_s + 1, start_s + 2],
        "relative": [1, 2],
    }
    for axis, x in expected.items():
        answer = server.get("/metrics/query", run=run.id, name="train/loss", x=axis)
        assert answer["series"][0]["x"] == pytest.approx(x, rel=1e-12), axis
        assert answer["x"] == axis
    zoomed = server.get("/metrics/query", run=run.id, name="train/loss", x="samples", **{"from": 3, "to": 6})
    assert zoomed["series"][0]["step"] == [1]


def test_a_range_on_time_is_exact_though_the_clock_ran_backwards(server: LiveServer) -> None:
    run = server.launch()
    later, earlier = step_message(900), step_message(100)
    moved = step_message(1, started_at=earlier.started_at, ended_at=earlier.ended_at)
    server.record(run, step_message(0, started_at=later.started_at, ended_at=later.ended_at), moved, step_message(2))
    low, high = earlier.ended_at.timestamp(), earlier.ended_at.timestamp() + 1
    zoomed = server.get("/metrics/query", run=run.id, name="train/loss", x="time", **{"from": low, "to": high})
    assert zoomed["series"][0]["step"] == [1]


def test_buckets_weigh_and_reduce_as_the_metric_declares(server: LiveServer) -> None:
    run = server.launch()
    given = case("metrics.json", "bucket-mean-is-weighted")
    means = [metric(p["value"], weight=p["weight"]) for p in given["given"]["points"]]
    declared = case("metrics.json", "reducer-is-declared")["given"]
    server.record(
        run,
        *(
            step_message(
                i,
                metrics={
                    "mean": means[i],
                    "sum": metric(float(i + 1), reduction=Reduction.SUM),
                    declared["name"]: metric(declared["values"][i], reduction=Reduction(declared["reduction"])),
                },
            )
            for i in range(2)
        ),
    )
    names = ["mean", "sum", declared["name"], "global_batch_size"]
    answer = server.get("/metrics/query", run=run.id, name=names, max_points=1)
    found = {series["name"]: series["value"] for series in answer["series"]}
    assert found == {"mean": [given["expect"]], "sum": [3.0], declared["name"]: [2.0], "global_batch_size": [4.0]}


@pytest.mark.parametrize(
    ("agg", "value", "has_range"), [("minmax", 2.0, True), ("mean", 2.0, False), ("last", 3.0, False)]
)
def test_the_aggregation_decides_what_a_bucket_shows(
    server: LiveServer, agg: str, value: float, has_range: bool
) -> None:
    run = server.launch()
    store_series(server, run, "m", [1.0, 2.0, 3.0])
    series = server.get("/metrics/query", run=run.id, name="m", max_points=1, agg=agg)["series"][0]
    assert series["value"] == [value]
    assert (series["min"], series["max"]) == (([1.0], [3.0]) if has_range else (None, None))


def test_without_aggregation_every_point_comes(server: LiveServer) -> None:
    run = server.launch()
    store_series(server, run, "m", [1.0, 2.0, 3.0])
    series = server.get("/metrics/query", run=run.id, name="m", max_points=1, agg="none")["series"][0]
    assert (series["sampled"], series["value"]) == (False, [1.0, 2.0, 3.0])


def test_a_series_that_is_missing_has_an_error_and_the_others_come(server: LiveServer) -> None:
    run = server.launch(name="known")
    server.record(run, step_message(0))
    answer = server.get("/metrics/query", run=["known", "unknown"], name=["train/loss", "nothing"])
    assert [(series["run"], series["name"]) for series in answer["series"]] == [(run.id, "train/loss")]
    assert [(error["run"], error["name"]) for error in answer["errors"]] == [
        (run.id, "nothing"),
        ("unknown", "train/loss"),
        ("unknown", "nothing"),
    ]


def test_a_run_without_steps_has_no_series(server: LiveServer) -> None:
    run_id = server.submit()
    assert server.get("/metrics/query", run=run_id, name="global_batch_size", x="relative")["series"] == []
    assert server.get(f"/runs/{run_id}/metrics")["items"] == []


def test_buckets_tell_each_kind_of_non_finite_value_once(server: LiveServer) -> None:
    run = server.launch()
    store_series(server, run, "m", ["NaN", "NaN", "Infinity", 1.0, 2.0, "NaN", 3.0, 4.0])
    series = server.get("/metrics/query", run=run.id, name="m", max_points=2)["series"][0]
    assert [(p["step"], p["value"]) for p in series["non_finite"]] == [(0, "NaN"), (2, "Infinity"), (5, "NaN")]
    assert (series["total"], series["value"]) == (8, [1.0, 3.0])


@pytest.mark.parametrize(
    ("bad", "parameter"),
    [
        ({"max_points": 0}, "max_points"),
        ({"from": "nan"}, "from"),
        ({"to": "inf"}, "to"),
        ({"x": "epochs"}, "x"),
        ({"name": []}, "name"),
    ],
)
def test_a_bad_parameter_is_named(sqlite_server: LiveServer, bad: dict[str, Any], parameter: str) -> None:
    answer = sqlite_server.http.get("/api/v1/metrics/query", params={"run": "r", "name": "m"} | bad)
    assert answer.status_code == 422
    assert [error["parameter"] for error in answer.json()["errors"]] == [parameter]


def store_series(server: LiveServer, run: LaunchedRun, name: str, values: list[Any]) -> None:
    """A long series straight into the tables, beside one step that makes the run known."""
    server.record(run, step_message(0, metrics={}))
    kinds = {"NaN": PointKind.NAN, "Infinity": PointKind.POSITIVE_INFINITY}

    def work(transaction: Transaction) -> None:
        connection = transaction.connection
        key = connection.scalar(select(runs.c.key).where(runs.c.id == run.id))
        connection.execute(insert(metric_names).values(run_key=key, name=name, reduction="mean"))
        metric_id = connection.scalar(select(metric_names.c.id).where(metric_names.c.run_key == key))
        rows = [
            {
                "metric_id": metric_id,
                "attempt": 1,
                "step": step,
                "value": None if value in kinds else value,
                "kind": kinds.get(value, PointKind.FINITE),
                "weight": 1.0,
            }
            for step, value in enumerate(values)
        ]
        connection.execute(insert(points), rows)

    server.services.writer.run(work)


def test_an_answer_that_no_server_should_hold_is_refused_with_what_to_change(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.history.service.MAX_ANSWER_POINTS", 100)
    runs = [server.launch(), server.launch()]
    for run in runs:
        server.record(run, *(step_message(i, metrics={"m": metric(1.0), "n": metric(1.0)}) for i in range(40)))
    query: dict[str, Any] = {"run": [run.id for run in runs], "name": ["m", "n"], "max_points": 30}
    for changes, parameter in (({}, "max_points"), ({"agg": "none", "name": "m", "superseded": "true"}, None)):
        answer = server.http.get("/api/v1/metrics/query", params=query | changes)
        assert answer.status_code == (200 if parameter is None else 422)
        assert [error["parameter"] for error in answer.json()["errors"]] == ([] if parameter is None else [parameter])
    every = server.http.get("/api/v1/metrics/query", params=query | {"agg": "none"})
    assert (every.status_code, every.json()["errors"][0]["parameter"]) == (422, "agg")
    assert "export" in every.json()["detail"]
    assert len(server.get("/metrics/query", **(query | {"max_points": 25}))["series"]) == 4
