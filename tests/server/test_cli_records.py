"""Commands that read what a run recorded, against a real server that starts no jobs."""

import csv
import json
import threading
from pathlib import Path

import pytest

from orchestrator.contracts.run_state import RunTrigger
from tests.server.live_server import LaunchedRun
from tests.server.record_factories import iteration_message, log_line, post
from tests.server.swell_commands import Swell, recorded_run

pytestmark = pytest.mark.stack


@pytest.fixture
def recorded(swell: Swell) -> LaunchedRun:
    return recorded_run(swell.server)


def test_metrics_come_in_columns_over_samples(swell: Swell, recorded: LaunchedRun) -> None:
    history = swell("metrics", "recorded", "reward/mean", "train/loss", "--x", "samples", "--json").json
    by_name = {series["name"]: series for series in history["series"]}
    assert by_name["reward/mean"]["x"] == [4, 6, 9]
    assert by_name["reward/mean"]["value"] == [0, 0.25, 0.5]
    assert by_name["train/loss"]["non_finite"] == [{"x": 6, "step": 1, "value": "NaN"}]
    text = swell("metrics", "recorded", "train/loss", "--x", "samples").out
    assert "NaN" in text


def test_metrics_without_a_name_are_the_catalogue(swell: Swell, recorded: LaunchedRun) -> None:
    names = [metric["name"] for metric in swell("metrics", "recorded", "--json").json["items"]]
    assert {"reward/mean", "train/loss"} <= set(names)
    assert "reward/mean" in swell("metrics", "recorded").out


def test_a_metric_that_is_not_there_is_an_error_of_its_own(swell: Swell, recorded: LaunchedRun) -> None:
    missing = swell("metrics", "recorded", "no/such", "--json")
    assert missing.code == 3
    assert missing.json["errors"][0]["name"] == "no/such"


def test_points_are_printed_as_lines_for_other_programs(swell: Swell, recorded: LaunchedRun) -> None:
    table = swell("metrics", "recorded", "reward/mean", "--format", "csv")
    assert (table.code, table.out.splitlines()[0].split(",")[:4]) == (0, ["run", "name", "attempt", "step"])
    lines = swell("metrics", "recorded", "train/loss", "--format", "jsonl", "--x", "samples").out.splitlines()
    assert [(point["x"], point["value"]) for point in map(json.loads, lines)] == [(4, 0.5), (6, "NaN"), (9, 0.5)]
    missing = swell("metrics", "recorded", "no/such", "--format", "csv")
    assert (missing.code, len(missing.out.splitlines())) == (3, 1)
    assert "no/such" in missing.err
    assert swell("metrics", "recorded", "--format", "csv").code == 2


def test_a_run_is_exported_to_a_file(swell: Swell, recorded: LaunchedRun, tmp_path: Path) -> None:
    exported = swell("export", "recorded", str(tmp_path / "run.jsonl"), "--json")
    content = (tmp_path / "run.jsonl").read_bytes()
    assert exported.json == {"file": str(tmp_path / "run.jsonl"), "bytes": len(content)}
    assert [json.loads(line)["global_batch_size"] for line in content.splitlines()] == [4, 2, 3]
    assert swell("export", "recorded", str(tmp_path / "run.xls")).code == 2
    assert swell("export", "nobody", str(tmp_path / "run.csv")).code == 3
    assert [path.name for path in tmp_path.glob("run.*")] == ["run.jsonl"]


def test_schedules_books_and_rollouts_are_exported_too(swell: Swell, recorded: LaunchedRun, tmp_path: Path) -> None:
    assert post(swell.server, recorded, "rollouts", iteration_message(0)).status_code == 200
    for what, num_rows in (("schedules", 4 + 2 + 3), ("iterations", 1), ("rollouts", 4)):
        path = tmp_path / f"{what}.csv"
        assert swell("export", "recorded", str(path), "--what", what).code == 0
        assert len(list(csv.DictReader(path.read_text().splitlines()))) == num_rows, what
    assert swell("export", "recorded", str(tmp_path / "x.csv"), "--what", "everything").code == 2


def test_logs_are_printed_harmless_and_as_json(swell: Swell, recorded: LaunchedRun) -> None:
    lines = [log_line(i, f"line {i} \x1b[31mred\x1b[0m") for i in range(5)]
    lines += [log_line(0, "out of memory", source="rank 1", level="error")]
    assert post(swell.server, recorded, "logs", *lines).status_code == 200
    text = swell("logs", "recorded", "--tail", "3").out
    assert [line.split()[-2:] for line in text.splitlines()] == [["3", "red"], ["4", "red"], ["of", "memory"]]
    assert "\x1b" not in text
    only = swell("logs", "recorded", "--level", "error", "--json").out.splitlines()
    assert [json.loads(line)["source"] for line in only] == ["rank 1"]
    assert [line.split()[2] for line in swell("logs", "recorded", "--source", "rank 1").out.splitlines()] == ["rank"]
    for trigger in (RunTrigger.REPORT, RunTrigger.SUCCEED):
        swell.server.services.runs.apply(recorded.id, trigger)
    assert len(swell("logs", "recorded", "--follow").out.splitlines()) == 6


def test_a_source_that_wrote_nothing_is_refused_with_those_that_did(swell: Swell, recorded: LaunchedRun) -> None:
    unknown = swell("logs", "recorded", "--source", "nobody", "--json")
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.problem["detail"] == "No process named 'nobody' wrote a line; nobody did."
    lines = [log_line(0), log_line(0, source="rank 1", level="error")]
    assert post(swell.server, recorded, "logs", *lines).status_code == 200
    unknown = swell("logs", "recorded", "--source", "nobody")
    assert (unknown.code, unknown.out) == (3, "")
    assert "there are: driver, rank 1." in unknown.err
    # That it wrote nothing so severe is no error.
    assert swell("logs", "recorded", "--source", "driver", "--level", "error").code == 0
    swell.server.services.runs.apply(recorded.id, RunTrigger.REPORT)
    timer = threading.Timer(0.3, lambda: swell.server.services.runs.apply(recorded.id, RunTrigger.SUCCEED))
    timer.start()
    followed = swell("logs", "recorded", "--follow", "--source", "nobody")
    timer.join()
    assert (followed.code, followed.out) == (0, "")
    assert "there are: driver, rank 1." in followed.err
    assert swell("logs", "recorded", "--follow", "--source", "nobody").code == 3


def test_the_logs_of_a_run_that_failed_say_where_the_files_are(swell: Swell, recorded: LaunchedRun) -> None:
    files = swell.server.settings.run_dir(recorded.id) / "logs" / "attempt-1"
    files.mkdir(parents=True)
    assert swell("logs", "recorded").err == ""
    swell.server.services.runs.apply(recorded.id, RunTrigger.FAIL, reason="killed")
    assert str(files) in swell("logs", "recorded").err
    assert swell("logs", "recorded", "--json").err == ""
