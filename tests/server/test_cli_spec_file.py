from pathlib import Path

import pytest

from server.cli.problem import CommandError, ExitCode
from server.cli.spec_file import read_spec_file

TEXT = """\
# a comment
name: tiny
data:
  tasks:
    - name: gcd
      weight: 2
    - {name: lcm}
optimizer: {lr: 1.0e-3}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("/name", 2),
        ("/data/tasks/0/weight", 6),
        ("/data/tasks/1/name", 7),
        ("/optimizer/lr", 8),
        # What is missing was not written: the block around it was.
        ("/data/rollout_batch_size", 3),
        ("/data/tasks/1/weight", 7),
        ("", 2),
        ("/schedule/token_cap", 2),
    ],
)
def test_each_field_has_the_line_where_it_or_its_block_was_written(path: Path, pointer: str, line: int) -> None:
    assert read_spec_file(path).place(pointer) == f"{path}:{line}"


def test_set_changes_fields_and_is_named_as_their_place(path: Path) -> None:
    spec_file = read_spec_file(path, ["optimizer.lr=0.5", "data.tasks.1.name=products", "batch.type=all", "seed=3"])
    assert spec_file.spec["optimizer"] == {"lr": 0.5}
    assert spec_file.spec["data"]["tasks"][1] == {"name": "products"}
    assert spec_file.spec["batch"] == {"type": "all"}
    assert spec_file.spec["seed"] == 3
    assert spec_file.place("/batch/type") == "--set batch.type=all"
    assert spec_file.place("/data/tasks/0/name") == f"{path}:5"


def test_set_of_a_whole_block_is_the_place_of_everything_in_it(path: Path) -> None:
    block = "data={tasks: [{name: sums}]}"
    spec_file = read_spec_file(path, ["data.tasks.1.name=products", block])
    for pointer in ("/data", "/data/tasks", "/data/tasks/0/name", "/data/tasks/1/name"):
        assert spec_file.place(pointer) == f"--set {block}"
    within = read_spec_file(path, [block, "data.tasks.0.name=products"])
    assert within.place("/data/tasks/0/name") == "--set data.tasks.0.name=products"
    assert within.place("/data/tasks/0") == f"--set {block}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("seed", "path.to.field=value"),
        ("=3", "path.to.field=value"),
        ("data.tasks.2.name=x", "below 2"),
        ("data.tasks.first.name=x", "below 2"),
        ("name.first=x", "single value"),
        ("name.first.second=x", "single value"),
        ("seed=[1", "not YAML"),
        ("optimizer={lr: 1, lr: 2}", "says 'lr' for the second time"),
    ],
)
def test_a_set_that_fits_nowhere_is_refused(path: Path, change: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason) as caught:
        read_spec_file(path, [change])
    assert caught.value.code is ExitCode.BAD_INPUT
    assert change in caught.value.problem.detail


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must hold the fields"),
        ("- a\n", "must hold the fields"),
        ("name: [", "not YAML"),
        ("name: a\nseed: 1\nname: b\n", ":3 says 'name' for the second time"),
        ("a: {b: 1, b: 2}\n", ":1 says 'b' for the second time"),
        ("lr: .nan\n", "what JSON does not have"),
        ("at: 2026-01-01\n", "what JSON does not have"),
        ("a: &a {b: *a}\n", "what JSON does not have"),
    ],
)
def test_a_file_that_cannot_be_a_spec_says_why(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(CommandError, match=reason) as caught:
        read_spec_file(path)
    assert caught.value.code is ExitCode.BAD_INPUT
    assert str(path) in caught.value.problem.detail


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"There is no file .*none\.yaml") as caught:
        read_spec_file(tmp_path / "none.yaml")
    assert caught.value.code is ExitCode.BAD_INPUT


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        read_spec_file(tmp_path)


def test_what_is_no_yaml_is_told_with_its_line(path: Path) -> None:
    path.write_text("name: tiny\ndata: [1, 2\noptimizer: {lr: 1}\n")
    with pytest.raises(CommandError) as caught:
        read_spec_file(path)
    assert str(path) + ":3 is not YAML: " in caught.value.detail
    assert "\n" not in caught.value.detail
