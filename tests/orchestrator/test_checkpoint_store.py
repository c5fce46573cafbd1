from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.checkpoint_store import MANIFEST, CheckpointStore, checkpoint_problem


def store(directory: Path, *, keep_last: int = 2, keep_every: int | None = None) -> CheckpointStore:
    return CheckpointStore(directory, keep_last=keep_last, keep_every=keep_every)


def write(checkpoints: CheckpointStore, step: int, content: str = "state") -> Path:
    (checkpoints.begin(step) / "driver.json").write_text(content)
    return checkpoints.commit(step)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_newest_checkpoint_is_the_one_of_the_highest_step(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    assert checkpoints.newest() is None
    for step in (20, 40):
        write(checkpoints, step)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.name == "step-00000040"


def test_a_writer_that_dies_leaves_the_one_before(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    before = write(checkpoints, 20)
    (checkpoints.begin(40) / "driver.json").write_text("half of it")
    assert checkpoints.newest() == before
    assert store(tmp_path).newest() == before
    assert names(tmp_path) == ["step-00000020"]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: (path / MANIFEST).unlink(), "cannot be read"),
        (lambda path: (path / MANIFEST).write_text("{"), "cannot be read"),
        (lambda path: (path / MANIFEST).write_text("[]"), "another format"),
        (lambda path: (path / MANIFEST).write_text(json.dumps({"format": 2})), "another format"),
        (lambda path: (path / "driver.json").unlink(), "driver.json is missing"),
        (lambda path: (path / "driver.json").write_text("sta"), "driver.json has 3 bytes"),
    ],
)
def test_a_damaged_checkpoint_is_left_out_and_told(tmp_path: Path, damage, told, caplog) -> None:  # type: ignore[no-untyped-def]
    checkpoints = store(tmp_path)
    before = write(checkpoints, 20)
    damaged = write(checkpoints, 40)
    damage(damaged)
    problem = checkpoint_problem(damaged)
    assert problem is not None
    assert told in problem
    assert checkpoints.newest() == before
    assert "step-00000040 is left out" in caplog.text


def test_old_ones_go_except_those_that_are_kept_for_good(tmp_path: Path) -> None:
    checkpoints = store(tmp_path, keep_last=2, keep_every=30)
    for step in (10, 20, 30, 40, 50):
        write(checkpoints, step)
    assert names(tmp_path) == ["step-00000030", "step-00000040", "step-00000050"]


def test_a_step_that_is_saved_again_is_replaced(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    write(checkpoints, 20, "first attempt")
    assert (write(checkpoints, 20, "second attempt") / "driver.json").read_text() == "second attempt"
