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
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer

NAME = "=cmd|'/c calc'!A0"


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
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}.{format_}"'
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
    monkeypatch.setattr("server.exports.endpoints._STEPS_PER_PAGE", 7)
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
