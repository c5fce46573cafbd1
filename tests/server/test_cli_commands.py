"""Commands against a real server that starts no jobs."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.contracts.run_state import RunTrigger
from server.cli.demo import DEMO_SPEC, submit_demo
from server.client.client import SwellClient
from server.client.location import read_token
from tests.server.live_server import LaunchedRun
from tests.server.swell_commands import Swell, recorded_run

pytestmark = pytest.mark.stack


@pytest.fixture
def recorded(swell: Swell) -> LaunchedRun:
    return recorded_run(swell.server)


def test_submit_prints_the_run_and_changes_what_is_set(swell: Swell) -> None:
    submitted = swell("submit", swell.spec_file(), "--set", "seed=7", "--set", "name=other", "--json")
    assert (submitted.code, submitted.err) == (0, "")
    assert submitted.json["spec"]["seed"] == 7
    assert submitted.json["state"] == "queued"
    shown = swell("show", "other", "--json")
    assert shown.json["id"] == submitted.json["id"]
    assert "seed 7" in " ".join(swell("show", "other").out.split())


def test_a_refused_spec_is_told_field_by_field_with_its_lines(swell: Swell) -> None:
    path = swell.spec_file(batch={"type": "fixed", "global_batch_size": 64, "remainder": "drop"})
    refused = swell("submit", path)
    assert (refused.code, refused.out) == (2, "")
    line = Path(path).read_text().splitlines().index("  global_batch_size: 64") + 1
    assert f"{path}:{line}  batch.global_batch_size: The plan is impossible" in refused.err
    assert "data.rollout_batch_size" in refused.err

    as_json = swell("submit", path, "--json")
    assert (as_json.code, as_json.out) == (2, "")
    assert as_json.problem["status"] == 422
    pointers = [error["pointer"] for error in as_json.problem["errors"]]
    assert "/batch/global_batch_size" in pointers


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"iterationz": 3}, "iterationz"),
        ({"parallelism": {"dp": 3, "num_ranks": 4}}, "parallelism.dp"),
        ({"model": {"type": "huggingface", "path": "/no/such/model"}}, "model.path"),
        ({"optimizer": {}}, "optimizer.lr"),
    ],
)
def test_every_kind_of_bad_spec_names_its_field(swell: Swell, changes: dict[str, Any], field: str) -> None:
    refused = swell("submit", swell.spec_file(**changes))
    assert refused.code == 2
    assert f"  {field}: " in refused.err


def test_a_missing_spec_file_is_named(swell: Swell) -> None:
    missing = swell("submit", "no-such.yaml", "--json")
    assert (missing.code, missing.out) == (2, "")
    assert "no-such.yaml" in missing.problem["detail"]


def test_runs_are_listed_by_state_and_text(swell: Swell, recorded: LaunchedRun) -> None:
    swell.server.submit(name="waiting")
    listed = swell("runs", "--json")
    assert [run["name"] for run in listed.json["items"]] == ["waiting", "recorded"]
    assert [run["name"] for run in swell("runs", "--state", "queued", "--json").json["items"]] == ["waiting"]
    assert [run["name"] for run in swell("runs", "--text", "REC", "--json").json["items"]] == ["recorded"]
    table = swell("runs").out
    assert recorded.id in table
    assert "█▁▅ 3" in table
    assert "1 more" in swell("runs", "--limit", "1").out
    by_name = swell("runs", "--sort", "name", "--ascending", "--json").json["items"]
    assert [run["name"] for run in by_name] == ["recorded", "waiting"]


def test_an_empty_list_says_how_to_fill_it(swell: Swell) -> None:
    assert "swell submit" in swell("runs").out


def test_names_are_shown_as_they_are(swell: Swell) -> None:
    name = "[red]bold[/red] a/../b \x1b[31m \u202eevil"
    swell.server.submit(name=name)
    for command in (("runs",), ("show", name)):
        assert "[red]bold[/red]" in swell(*command).out
        assert not {"\x1b", "\u202e"} & set(swell(*command).out)


def test_a_line_break_in_a_name_breaks_no_table(swell: Swell) -> None:
    swell.server.submit(name="two\nlines\u2028three")
    listed = swell("runs").out
    assert "two\\nlines\\u2028three  queued" in listed
    assert len(listed.splitlines()) == 2
    assert "two\\nlines" in swell("show", "two\nlines\u2028three").out


def test_the_demo_is_submitted_once_and_then_told_what_became_of_it(swell: Swell) -> None:
    def submitted() -> str:
        with SwellClient(url=swell.server.url, token=read_token(swell.server.settings.home)) as client:
            console = Console(width=500)
            with console.capture() as captured:
                submit_demo(client, console)
        return captured.get()

    assert "The demo run is submitted" in submitted()
    assert "The demo run is queued; watch it with `swell watch demo`" in submitted()
    swell("cancel", "demo")
    again = submitted()
    assert "has been cancelled" in again
    assert f"run it again with `swell submit {DEMO_SPEC}`" in again
    assert swell("runs", "--json").json["total"] == 1


def test_a_run_that_is_not_there_has_an_exit_code_of_its_own(swell: Swell) -> None:
    for command in ("show", "watch", "cancel", "metrics", "logs", "pause", "retry", "clone", "delete"):
        missing = swell(command, "nobody", "--json")
        assert (missing.code, missing.out) == (3, "")
        assert missing.problem["type"] == "/problems/not-found"


def test_cancelling_tells_the_state_with_and_without_waiting(swell: Swell) -> None:
    for name, options in (("waited", []), ("left", ["--no-wait"])):
        swell.server.submit(name=name)
        assert swell("cancel", name, *options).out == f"{name} is cancelled\n"


def test_a_queued_run_is_cancelled_and_a_second_time_refused(swell: Swell) -> None:
    swell.server.submit(name="waiting")
    assert swell("cancel", "waiting", "--json").json["state"] == "cancelled"
    again = swell("cancel", "waiting", "--json")
    assert again.code == 1
    assert again.problem["status"] == 409


def test_watch_ends_with_the_run_and_tells_how_it_ended(swell: Swell, recorded: LaunchedRun) -> None:
    apply = swell.server.services.runs.apply
    apply(recorded.id, RunTrigger.REPORT)
    timer = threading.Timer(0.3, lambda: apply(recorded.id, RunTrigger.FAIL, reason="no wood"))
    timer.start()
    watched = swell("watch", "recorded", "--json")
    timer.join()
    assert watched.code == 1
    states = [json.loads(line)["state"] for line in watched.out.splitlines()]
    assert states[-1] == "failed"
    assert "recorded  failed  3 of ? steps  batch 3  reward 0.5  loss 0.5  no wood" in swell("watch", "recorded").out


def test_watching_a_run_that_succeeds_succeeds(swell: Swell, recorded: LaunchedRun) -> None:
    for trigger in (RunTrigger.REPORT, RunTrigger.SUCCEED):
        swell.server.services.runs.apply(recorded.id, trigger)
    assert swell("watch", "recorded").code == 0


def test_a_plan_takes_the_lengths_of_an_earlier_run(swell: Swell, recorded: LaunchedRun) -> None:
    planned = swell("plan", swell.spec_file(), "--run", "recorded", "--json")
    assert (planned.code, planned.err) == (0, "")
    lengths = [sentence for sentence in planned.json["assumptions"] if sentence.startswith("lengths: ")]
    assert "samples of the run 'recorded'" in lengths[0]

    missing = swell("plan", swell.spec_file(), "--run", "nobody")
    assert missing.code == 2
    assert "--run nobody  lengths.run: " in missing.err


def test_a_run_is_paused_and_resumed(swell: Swell, recorded: LaunchedRun) -> None:
    swell.server.services.runs.apply(recorded.id, RunTrigger.REPORT)
    assert swell("pause", "recorded", "--no-wait").out == "recorded is pausing\n"
    assert swell("resume", "recorded", "--json").json["state"] == "running"


def test_a_cancelled_run_is_retried_cloned_deleted_and_restored(swell: Swell) -> None:
    run_id = swell.server.submit(name="first")
    swell("cancel", "first")
    assert swell("retry", "first").out == "first is queued: attempt 1 begins at step 0\n"
    swell("cancel", "first")
    cloned = swell("clone", "first", "--set", "name=second", "--set", "optimizer.lr=0.5", "--json").json
    assert (cloned["parent_id"], cloned["spec"]["optimizer"]["lr"]) == (run_id, 0.5)
    refused = swell("clone", "first", "--set", "optimizer.lr=-1")
    assert refused.code == 2
    assert "--set optimizer.lr=-1  " in refused.err
    assert "--set batch.type=nope  " in swell("clone", "first", "--set", "batch.type=nope").err

    assert swell("delete", "first").code == 1, "nobody was there to say yes"
    deleted = swell("delete", "first", "--yes")
    assert f"swell restore {run_id}" in deleted.out
    assert swell("restore", run_id).out.startswith("first is back")
    swell("delete", "first", "--yes")
    assert swell("show", run_id).code == 3
    assert swell("delete", "second", "--yes").code == 1, "it waits to be run"


def test_tokens_are_made_listed_and_revoked(swell: Swell, monkeypatch: pytest.MonkeyPatch) -> None:
    made = swell("tokens", "create", "grafana", "--access", "read", "--json").json
    assert "grafana" in swell("tokens", "list").out
    monkeypatch.setenv("SWELL_TOKEN", made["token"])
    assert (swell("runs").code, swell("submit", swell.spec_file()).code) == (0, 1)
    monkeypatch.delenv("SWELL_TOKEN")
    assert swell("tokens", "rotate", str(made["id"])).out.strip() != made["token"]
    assert swell("tokens", "rotate", "--json").json["token"] == swell.server.settings.token_path.read_text().strip()
    assert swell("tokens", "revoke", str(made["id"])).code == 0
    assert swell("tokens", "list", "--json").json["items"][0]["revoked_at"] is not None
    assert "revoked" in swell("tokens", "list").out


def test_tokens_without_a_command_are_listed(swell: Swell) -> None:
    swell("tokens", "create", "grafana", "--access", "read")
    assert "grafana" in swell("tokens").out
    assert swell("tokens", "--json").json == swell("tokens", "list", "--json").json
    misplaced = swell("tokens", "--json", "list")
    assert (misplaced.code, misplaced.out) == (2, "")
    assert "swell tokens list --json" in misplaced.err


def test_every_command_explains_itself_and_the_exit_codes_stand_in_the_help(swell: Swell) -> None:
    overview = swell("--help").out
    for words in ("Exit codes: 0 done", "SWELL_URL", "tokens", "logs", "restore"):
        assert words in overview
    listed = [line.split()[0] for line in overview.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert len(listed) >= 20
    for command in ("pause", "logs", "clone", "export"):
        assert "--json" in swell(command, "--help").out


def test_login_prints_a_link_that_works_once(swell: Swell) -> None:
    link = swell("login").out.strip()
    assert link.startswith(swell.server.url)
    assert [swell.server.http.get(link).status_code for _ in range(2)] == [303, 410]


def test_without_a_server_the_exit_code_says_so(swell: Swell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWELL_URL", "http://127.0.0.1:9")
    away = swell("runs", "--json")
    assert (away.code, away.out) == (4, "")
    assert away.problem["type"] == "/problems/no-server"
    monkeypatch.delenv("SWELL_URL")
    monkeypatch.setenv("SWELL_HOME", "/no/such/home")
    assert swell("runs").code == 4


@pytest.mark.parametrize("command", [["up", "--no-browser"], ["runs"], ["down"], ["login"]])
def test_a_home_that_cannot_be_used_is_told_in_a_sentence(
    swell: Swell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.delenv("SWELL_URL")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SWELL_HOME", str(tmp_path / "file" / "home"))
    told = swell(*command)
    assert "Traceback" not in told.out + told.err
    assert str(tmp_path / "file" / "home") in told.out + told.err
    assert told.code == {"up": 2, "down": 0}.get(command[0], 4)


def test_wrong_usage_has_an_exit_code_of_its_own(swell: Swell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert swell("runs", "--no-such-option").code == 2
    assert swell("metrics", "r", "n", "--x", "miles").code == 2
    monkeypatch.setenv("SWELL_PORT", "eighty")
    assert swell("runs").code == 2
