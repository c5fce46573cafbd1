from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import pyarrow.parquet as pq
import pytest

from server.exports.formats import safe_text
from tests.server.cases import case
from tests.server.factories import metric, padded, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import group_message, iteration_message, post, rollout_message

NAME = "=cmd|'/c calc'!A0"


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


@pytest.mark.parametrize(
    ("text", "safe"),
    [("=1+2", "'=1+2"), ("+1", "'+1"), ("-x", "'-x"), ("@a", "'@a"), ("\ta", "'\ta"), ("a=b", "a=b"), ("损", "损")],
)
def test_no_text_begins_like_a_formula(text: str, safe: str) -> None:
    assert safe_text(text) == safe


@pytest.fixture
def run(server: LiveServer) -> LaunchedRun:
    """A run whose second attempt trains step 2 again; its metric has every kind of value."""
    values = [*case("server.json", "non-finite-end-to-end")["given"]["values"], None]
    run = server.launch()
    server.record(run, *(step_message(i, metrics={NAME: metric(v, weight=2.0)}) for i, v in enumerate(values)))
    second = server.next_attempt(run)
    server.record(second, step_message(4, metrics={'a,"b"\n': metric(-0.5), NAME: metric(None)}), step_message(5))
    return run


def exported(server: LiveServer, run: LaunchedRun, format_: str, **params: Any) -> bytes:
    answer = server.http.get(f"/api/v1/runs/{run.id}/export", params={"format": format_, **params})
    assert answer.status_code == 200, answer.text
    part = f"-{params['what']}" if "what" in params else ""
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}{part}.{format_}"'
    return answer.content


@pytest.mark.stack
def test_csv_has_a_line_for_each_step_and_runs_nothing(server: LiveServer, run: LaunchedRun) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(server, run, "csv").decode(), newline="")))
    assert [(row["attempt"], row["step"], row["superseded"]) for row in rows] == [
        *(("1", str(i), "False") for i in range(4)),
        ("2", "4", "False"),
        ("2", "5", "False"),
        ("1", "4", "True"),
    ]
    safe = f"'{NAME}"
    assert [row[safe] for row in rows] == ["NaN", "Infinity", "-Infinity", "1.0", "", "", ""]
    assert [row[f"{safe} (weight)"] for row in rows] == ["2.0", "2.0", "2.0", "2.0", "0.0", "", "0.0"]
    assert rows[4]['a,"b"\n'] == "-0.5"
    assert rows[0]["global_batch_size"] == "4"


@pytest.mark.stack
def test_a_metric_that_is_named_as_a_column_has_a_column_of_its_own(server: LiveServer) -> None:
    names = ["attempt", "m", "m (weight)", "step", "step (metric)"]
    run = server.launch()
    server.record(run, step_message(0, metrics={name: metric(float(i), weight=9.0) for i, name in enumerate(names)}))
    [row] = pq.read_table(io.BytesIO(exported(server, run, "parquet"))).to_pylist()
    [line] = csv.DictReader(io.StringIO(exported(server, run, "csv").decode(), newline=""))
    assert list(line) == list(row)
    assert (row["step"], row["attempt"]) == (0, 1)
    expected = {
        "attempt (metric)": 0.0,
        "m": 1.0,
        "m (weight)": 9.0,
        "m (weight) (metric)": 2.0,
        "step (metric)": 3.0,
        "step (metric) (metric)": 4.0,
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.stack
def test_json_lines_are_the_steps_as_the_api_tells_them(server: LiveServer, run: LaunchedRun) -> None:
    lines = [json.loads(line) for line in exported(server, run, "jsonl", superseded="false").splitlines()]
    assert lines == server.get(f"/runs/{run.id}/steps")["items"]


@pytest.mark.stack
def test_parquet_keeps_types_and_tells_what_is_not_a_number_from_what_is_not_there(
    server: LiveServer, run: LaunchedRun
) -> None:
    table = pq.read_table(io.BytesIO(exported(server, run, "parquet")))
    values = table[NAME].to_pylist()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, 1.0, None, None, None]
    assert table["step"].to_pylist() == [0, 1, 2, 3, 4, 5, 4]
    assert table["superseded"].to_pylist() == [False] * 6 + [True]
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert str(table.schema.field("global_batch_size").type) == "int64"
    assert str(table.schema.field("lr").type) == "double"


@pytest.mark.stack
def test_a_long_run_comes_in_pages_without_a_gap(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.exports.step_table.STEPS_PER_PAGE", 7)
    run = server.launch()
    server.record(run, *(step_message(3 * i, lengths=(5,)) for i in range(30)))
    expected = [3 * i for i in range(30)]
    assert [json.loads(line)["step"] for line in exported(server, run, "jsonl").splitlines()] == expected
    assert pq.read_table(io.BytesIO(exported(server, run, "parquet")))["step"].to_pylist() == expected
    assert len(exported(server, run, "csv").splitlines()) == 31


@pytest.mark.stack
def test_a_run_without_steps_is_a_file_with_columns(server: LiveServer) -> None:
    run = server.launch()
    assert exported(server, run, "jsonl") == b""
    assert exported(server, run, "csv").startswith(b"step,iteration,")
    assert pq.read_table(io.BytesIO(exported(server, run, "parquet"))).num_rows == 0
    assert server.http.get(f"/api/v1/runs/{run.id}/export", params={"format": "xls"}).status_code == 422
    assert server.http.get("/api/v1/runs/nobody/export").status_code == 404


@pytest.fixture
def recorded(server: LiveServer) -> LaunchedRun:
    """A run whose second attempt ran iteration 1 again, with a rollout that looks like a formula."""
    run = server.launch()
    server.record(run, *(step_message(i, lengths=(5, 9, 7)) for i in range(2)))
    group = group_message(
        "=g",
        [
            rollout_message("r0", text="=1+2", reward=None, advantage=None, trainer_log_probs=()),
            rollout_message("r1", fate="carried", step=None, pieces=(), log_probs=(), trainer_log_probs=()),
        ],
    )
    post(server, run, "rollouts", iteration_message(0, [group]), iteration_message(1))
    second = server.next_attempt(run)
    server.record(second, padded(step_message(1, lengths=(5,)), [3], [0]))
    waited = ({"rollout_id": "r1", "fate": "dropped", "reason": "remainder", "age": 1},)
    again = iteration_message(1, num_carried_in=1, dropped={"remainder": 1}, waited=waited)
    post(server, second, "rollouts", again)
    return run


@pytest.mark.stack
def test_schedules_have_a_row_for_each_sample_and_dummy_and_a_line_for_each_step(
    server: LiveServer, recorded: LaunchedRun
) -> None:
    lines = [json.loads(line) for line in exported(server, recorded, "jsonl", what="schedules").splitlines()]
    assert [(line["step"], line["attempt"], line["superseded"]) for line in lines] == [
        (0, 1, False),
        (1, 2, False),
        (1, 1, True),
    ]
    assert lines[0]["schedule"] == server.get(f"/runs/{recorded.id}/steps/0/schedule")["schedule"]
    table = pq.read_table(io.BytesIO(exported(server, recorded, "parquet", what="schedules"))).to_pylist()
    first = sorted((row["index"], row["dp_rank"], row["num_tokens"]) for row in table if row["step"] == 0)
    assert [(index, num_tokens) for index, _, num_tokens in first] == [(0, 5), (1, 9), (2, 7)]
    dummies = [row for row in table if row["index"] is None]
    assert [(row["step"], row["attempt"], row["sample_id"], row["reward"]) for row in dummies] == [(1, 2, None, None)]
    rows = list(csv.DictReader(io.StringIO(exported(server, recorded, "csv", what="schedules").decode(), newline="")))
    assert len(rows) == len(table) == 3 + 2 + 3
    assert rows[0]["weight"] == "1/3"
    assert [row["token_cap"] for row in rows] == ["64"] * 8
    computed = [(row["step"], row["micro_batch_num_positions"]) for row in rows if row["attempt"] == "2"]
    assert computed == [("1", "8"), ("1", "0")]


@pytest.mark.stack
def test_rollouts_are_exported_whole_and_run_nothing(server: LiveServer, recorded: LaunchedRun) -> None:
    lines = [json.loads(line) for line in exported(server, recorded, "jsonl", what="rollouts").splitlines()]
    assert [(line["iteration"], line["attempt"], line["superseded"]) for line in lines] == [
        *[(0, 1, False)] * 2,
        *[(1, 2, False)] * 4,
        *[(1, 1, True)] * 4,
    ]
    assert (lines[0]["text"], lines[0]["pieces"], lines[0]["log_probs"]) == (
        "=1+2",
        ["an", "sw", "er"],
        [-0.5, -0.25, -0.1],
    )
    assert (lines[1]["later_fate"], lines[1]["later_reason"], lines[1]["later_iteration"]) == (
        "dropped",
        "remainder",
        1,
    )
    rows = list(csv.DictReader(io.StringIO(exported(server, recorded, "csv", what="rollouts").decode(), newline="")))
    assert (rows[0]["text"], rows[0]["group_id"], rows[0]["reward"]) == ("'=1+2", "'=g", "")
    assert json.loads(rows[0]["log_probs"]) == [-0.5, -0.25, -0.1]
    table = pq.read_table(io.BytesIO(exported(server, recorded, "parquet", what="rollouts", superseded="false")))
    assert table["rollout_id"].to_pylist()[:2] == ["r0", "r1"]
    assert table["log_probs"].to_pylist()[:2] == [[-0.5, -0.25, -0.1], []]
    assert table.num_rows == 6


@pytest.mark.stack
def test_iterations_are_exported_as_the_api_tells_them(server: LiveServer, recorded: LaunchedRun) -> None:
    lines = [json.loads(line) for line in exported(server, recorded, "jsonl", what="iterations").splitlines()]
    told = server.get(f"/runs/{recorded.id}/iterations")["items"]
    assert lines[:2] == [item | {"superseded": False} for item in told]
    assert [line["superseded"] for line in lines] == [False, False, True]
    rows = list(csv.DictReader(io.StringIO(exported(server, recorded, "csv", what="iterations").decode(), newline="")))
    assert (rows[1]["dropped"], rows[1]["pruned_at"]) == ('{"remainder":1}', "")
    table = pq.read_table(io.BytesIO(exported(server, recorded, "parquet", what="iterations")))
    assert table["num_generated"].to_pylist() == [2, 4, 4]
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"


@pytest.mark.stack
@pytest.mark.parametrize("what", ["schedules", "iterations", "rollouts"])
def test_what_a_run_has_none_of_is_a_file_with_columns(server: LiveServer, what: str) -> None:
    run = server.launch()
    assert exported(server, run, "jsonl", what=what) == b""
    assert len(exported(server, run, "csv", what=what).splitlines()) == 1
    assert pq.read_table(io.BytesIO(exported(server, run, "parquet", what=what))).num_rows == 0
