"""`swell plan` as a shell runs it. No server is there, except where an earlier run is asked for."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from orchestrator.contracts.plan import Lengths, RunPlan
from orchestrator.contracts.run_spec import RunSpec
from server.cli.main import main
from server.cli.plan_report import plan_report
from server.cli.planning import PlanOptions, plan_after_run, plan_here, with_run
from server.cli.spec_file import read_spec_file
from server.client.problem import FieldProblem, InvalidError, Problem
from tests.server.cases import case
from tests.server.factories import spec_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def swell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Result]:
    monkeypatch.setenv("SWELL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SWELL_URL", "http://127.0.0.1:9")

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["swell", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Result(code=int(ended.value.code or 0), out=captured.out, err=captured.err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def written(**changes: Any) -> str:
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(spec_json(**changes), sort_keys=False))
        return str(path)

    return written


def line_of(path: str, text: str) -> int:
    return Path(path).read_text().splitlines().index(text) + 1


def test_the_impossible_plan_of_the_shared_case_is_refused_field_by_field(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    given, expect = (case("schedule.json", "reject-at-submit")[part] for part in ("given", "expect"))
    changes = {
        "iterations": given["iterations"],
        "data": spec_json()["data"] | {"rollout_batch_size": given["rollout_batch_size"]},
        "rollout": spec_json()["rollout"] | {"group_size": given["group_size"]},
    }
    path = write(**changes, batch=given["batch"])
    refused = swell("plan", path)
    assert (refused.code, refused.out) == (2, "")
    for field in expect["names"]:
        value = {"batch": given["batch"], "data": given, "rollout": given}[field.split(".")[0]]
        name = field.split(".")[1]
        assert f"{path}:{line_of(path, f'  {name}: {value[name]}')}  {field}: The plan is impossible" in refused.err
    as_json = swell("plan", path, "--json")
    problem = json.loads(as_json.err)
    assert (as_json.code, problem["status"]) == (2, expect["http"])
    assert [error["pointer"][1:].replace("/", ".") for error in problem["errors"]] == expect["names"]
    assert swell("plan", write(**changes, batch=given["batch"] | {"remainder": "partial"})).code == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"iterationz": 3}, "iterationz"),
        ({"parallelism": {"dp": 3, "num_ranks": 4}}, "parallelism.dp"),
        ({"model": {"type": "huggingface", "path": "/no/such/model"}}, "model.path"),
        ({"optimizer": {}}, "optimizer.lr"),
        ({"batch": {"type": "explicit", "sizes": [4, 0]}}, "batch.sizes.1"),
        ({"rollout": {"group_size": 10**9, "max_new_tokens": 8}}, "rollout.group_size"),
    ],
)
def test_every_kind_of_bad_spec_names_its_field(
    swell: Callable[..., Result], write: Callable[..., str], changes: dict[str, Any], field: str
) -> None:
    refused = swell("plan", write(**changes))
    assert (refused.code, refused.out) == (2, "")
    assert f"  {field}: " in refused.err


def test_a_field_in_the_wrong_place_is_told_where_it_belongs(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    refused = swell("plan", write(), "--set", "max_restarts=0")
    assert refused.code == 2
    assert "--set max_restarts=0  max_restarts: unknown field; the spec has it as limits.max_restarts" in refused.err


def test_a_change_is_named_as_the_place_of_what_it_broke(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    refused = swell("plan", write(), "--set", "optimizer.lr=-1")
    assert refused.code == 2
    assert "--set optimizer.lr=-1  optimizer.lr: " in refused.err


def test_a_choice_that_a_policy_does_not_have_is_told_in_the_words_of_a_spec(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    refused = swell("plan", write(batch={"type": "all", "remainder": "drop"}))
    assert "batch.remainder: Input should be 'partial'" in refused.err


def test_a_run_for_a_larger_machine_is_planned_with_a_warning(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    planned = swell("plan", write(), "--set", "parallelism.dp=2000", "--json")
    assert planned.code == 0
    assert any("this machine has" in warning for warning in json.loads(planned.out)["warnings"])


def test_a_good_spec_is_shown_as_a_table_with_curves_and_remarks(
    swell: Callable[..., Result], write: Callable[..., str]
) -> None:
    schedule = {"style": "cosine", "warmup": 640, "decay": 10**6}
    shown = swell("plan", write(iterations=1000, optimizer={"lr": 1e-3, "lr_schedule": schedule}))
    assert (shown.code, shown.err) == (0, "")
    assert "demo: 1,000 steps of 16 samples before the filter, 16,000 samples" in shown.out
    assert "samples of a step" in shown.out
    assert "learning rate" in shown.out
    assert "┤" in shown.out
    assert "optimizer.lr_schedule.decay: it ends at 1,000,000 samples" in shown.out
    assert "Assumed:" in shown.out
    assert "\x1b" not in shown.out
    assert shown.out.count("\n") < 70


def test_json_is_the_whole_plan(swell: Callable[..., Result], write: Callable[..., str]) -> None:
    told = swell("plan", write(iterations=50), "--json", "--kept-frac", "0.5")
    plan = RunPlan.model_validate_json(told.out)
    assert len(plan.steps) == 50
    assert plan.num_samples == 400


def test_lengths_come_from_a_file(swell: Callable[..., Result], write: Callable[..., str], tmp_path: Path) -> None:
    lengths = tmp_path / "lengths.txt"
    lengths.write_text("30\n30\n")
    told = swell("plan", write(), "--lengths", str(lengths), "--json")
    assert RunPlan.model_validate_json(told.out).num_tokens_expected == 48 * 30
    lengths.write_text("30\nthirty\n")
    refused = swell("plan", write(), "--lengths", str(lengths))
    assert refused.code == 2
    assert f"{lengths}:2: 'thirty'" in refused.err
    assert swell("plan", write(), "--lengths", str(lengths), "--run", "before").code == 2


def test_only_the_lengths_of_a_run_need_a_server(swell: Callable[..., Result], write: Callable[..., str]) -> None:
    (Path(write()).parent / "home").mkdir()
    (Path(write()).parent / "home" / "token").write_text("secret")
    assert swell("plan", write()).code == 0
    assert swell("plan", write(), "--run", "before").code == 4


class RefusingServer:
    """Answers every plan with one problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def plan(self, spec: RunSpec, *, lengths: Lengths | None, kept_frac: float) -> RunPlan:
        raise InvalidError(self._problem)


def test_a_refusal_of_the_server_points_into_the_file(write: Callable[..., str]) -> None:
    spec_file = with_run(read_spec_file(Path(write())), "before")
    errors = (FieldProblem(pointer="/spec/batch/type", detail="a"), FieldProblem(pointer="/lengths/run", detail="b"))
    problem = Problem(type="/problems/invalid", title="t", status=422, detail="d", errors=errors)
    with pytest.raises(InvalidError) as caught:
        plan_after_run(RefusingServer(problem), spec_file, PlanOptions(lengths=None, kept_frac=1.0))
    places = [spec_file.place(error.pointer or "") for error in caught.value.problem.errors]
    assert places == [f"{spec_file.path}:{line_of(str(spec_file.path), '  type: all')}", "--run before"]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_report_fits_terminals_of_any_width(write: Callable[..., str], width: int) -> None:
    spec_file = read_spec_file(Path(write(iterations=1)))
    plan = plan_here(spec_file, PlanOptions(lengths=None, kept_frac=1.0))
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(plan_report("demo", plan, width=width))
    assert max(map(len, captured.get().splitlines())) <= width


def test_a_plan_without_steps_is_told_and_not_drawn(swell: Callable[..., Result], write: Callable[..., str]) -> None:
    batch = {"type": "fixed", "global_batch_size": 16, "remainder": "drop"}
    shown = swell("plan", write(batch=batch), "--kept-frac", "0.5")
    assert shown.code == 0
    assert "trains nothing" in " ".join(shown.out.split())
