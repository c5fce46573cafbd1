"""Lines of logs and metrics as commands print them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from orchestrator.contracts.log_messages import LogLevel
from server.cli.clone_changes import clone_changes
from server.cli.log_lines import log_line
from server.cli.metric_lines import MetricFormat, metric_lines
from server.cli.problem import CommandError
from server.history.schemas import MetricHistory
from server.logs.schemas import LogLineOut
from tests.server.factories import START, spec_json


def a_line(text: str, **changes: Any) -> LogLineOut:
    fields = {"id": 1, "attempt": 2, "source": "rank 0", "number": 0, "at": START, "level": LogLevel.INFO, "text": text}
    return LogLineOut.model_validate(fields | changes)


def test_a_log_line_has_time_level_and_source() -> None:
    text = log_line(a_line("hello", level=LogLevel.WARNING), with_attempt=False).plain
    assert text.split()[1:] == ["WARNING", "rank", "0", "hello"]
    assert "rank 0#2" in log_line(a_line("hello"), with_attempt=True).plain


def test_a_traceback_keeps_its_lines() -> None:
    text = log_line(a_line("Traceback\r\n  File\nValueError: no\n"), with_attempt=False).plain
    assert text.splitlines()[1:] == ["      File", "    ValueError: no"]


@pytest.mark.parametrize(
    ("hostile", "kept"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\\\link", "link"),
        ("\x1b[2J\x1b[Hclear", "clear"),
        ("a\x1b", "a\\x1b"),
        ("bell\x07 \x9b31m \u202eback", "bell\\x07 \\x9b31m \\u202eback"),
        ("over\rwritten", "over\\rwritten"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
    ],
)
def test_no_line_acts_on_the_terminal(hostile: str, kept: str) -> None:
    text = log_line(a_line(hostile), with_attempt=False).plain
    assert text.endswith(kept)
    assert all(character.isprintable() for character in text)


HISTORY = MetricHistory.model_validate(
    {
        "x": "step",
        "series": [
            {
                "run": "run_1",
                "name": "=evil()",
                "attempt": 1,
                "superseded": False,
                "total": 3,
                "sampled": False,
                "x": (0.0, 2.0),
                "step": (0, 2),
                "last_step": (0, 2),
                "value": (0.5, 0.25),
                "weight": (8.0, 4.0),
                "min": None,
                "max": None,
                "non_finite": [{"x": 1.0, "step": 1, "value": "NaN"}],
            }
        ],
        "errors": [],
    }
)


def test_metrics_come_as_csv_that_no_spreadsheet_runs() -> None:
    rows = list(csv.DictReader(io.StringIO("".join(metric_lines(HISTORY, MetricFormat.CSV)))))
    assert [(row["step"], row["value"], row["weight"]) for row in rows] == [
        ("0", "0.5", "8.0"),
        ("1", "NaN", ""),
        ("2", "0.25", "4.0"),
    ]
    assert rows[0]["name"] == "'=evil()"


def test_metrics_come_as_json_lines_with_non_finite_values_by_name() -> None:
    rows = [json.loads(line) for line in metric_lines(HISTORY, MetricFormat.JSONL)]
    assert [(row["name"], row["value"]) for row in rows] == [("=evil()", 0.5), ("=evil()", "NaN"), ("=evil()", 0.25)]


def test_a_clone_says_only_what_is_different() -> None:
    spec = spec_json(tags={"a": "1", "b": "2"})
    changes = ["optimizer.lr=0.01", "batch={type: fixed, global_batch_size: 4}", "reward.0.weight=2", "seed=3"]
    patch, places = clone_changes(spec, changes)
    assert patch == {
        "optimizer": {"lr": 0.01},
        "batch": {"type": "fixed", "global_batch_size": 4},
        "reward": [{"type": "reasoning_gym", "weight": 2}],
        "seed": 3,
    }
    assert places["/optimizer/lr"] == "--set optimizer.lr=0.01"
    assert clone_changes(spec, ["tags={a: '1'}"])[0] == {"tags": {"b": None}}
    assert clone_changes(spec, [])[0] == {}
    assert clone_changes(spec, [f"name={spec['name']}"])[0] == {"name": spec["name"]}
    with pytest.raises(CommandError):
        clone_changes(spec, ["name.first=x"])
