from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.contracts.checkpoint_directory import MANIFEST, checkpoint_problem
from tests.orchestrator.run_factories import checkpoint


def store(directory: Path, *, keep_last: int = 2, keep_every: int | None = None) -> CheckpointStore:
    return CheckpointStore(directory, keep_last=keep_last, keep_every=keep_every)


def write(checkpoints: CheckpointStore, step: int, content: str = "state") -> Path:
    """Write a checkpoint as a driver does, and remove those that are old enough."""
    (checkpoints.begin(step) / "driver.json").write_text(content)
    path = checkpoints.commit(step, checkpoint(step))
    for old in checkpoints.superfluous():
        checkpoints.remove(old)
    return path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.is_dir())


def newest(checkpoints: CheckpointStore) -> str | None:
    path = checkpoints.newest()
    return None if path is None else path.name


def test_the_newest_checkpoint_is_the_one_of_the_highest_step(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    assert checkpoints.newest() is None
    for step in (20, 40):
        write(checkpoints, step)
    assert newest(checkpoints) == "step-00000040"


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


def test_what_is_told_of_a_checkpoint_is_kept_with_it(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    (checkpoints.begin(20) / "driver.json").write_text("state")
    assert checkpoints.num_bytes(20) == 5
    path = checkpoints.commit(20, checkpoint(20))
    assert path == checkpoints.path(20)
    assert store(tmp_path).message(20) == checkpoint(20)
    assert checkpoints.message(40) is None
    (path / MANIFEST).write_text(json.dumps({"format": 1, "files": {}}))
    assert checkpoints.message(20) is None


def test_a_run_that_goes_back_never_takes_a_newer_checkpoint_for_its_own(tmp_path: Path) -> None:
    first = store(tmp_path, keep_last=3)
    for step in (20, 40, 60):
        write(first, step)
    store(tmp_path).go_back_to(20)
    # Whatever dies now, also before the next checkpoint: the attempts that follow go on from there.
    again = store(tmp_path, keep_last=1)
    assert newest(again) == "step-00000020"
    write(again, 30)
    assert newest(store(tmp_path)) == "step-00000030"
    # What was set aside stays until the run has come past it.
    assert names(tmp_path) == ["step-00000030", "step-00000040", "step-00000060"]
    write(again, 40, "of the new line")
    assert newest(store(tmp_path)) == "step-00000040"
    assert names(tmp_path) == ["step-00000040", "step-00000060"]
    write(again, 70)
    assert names(tmp_path) == ["step-00000070"]


def test_a_run_may_go_back_to_what_was_set_aside(tmp_path: Path) -> None:
    checkpoints = store(tmp_path, keep_last=3)
    for step in (20, 40, 60):
        write(checkpoints, step)
    checkpoints.go_back_to(20)
    write(checkpoints, 30)
    checkpoints.go_back_to(60)
    assert newest(store(tmp_path)) == "step-00000060"


def test_going_back_to_step_zero_begins_anew_unless_there_is_a_checkpoint_of_it(tmp_path: Path) -> None:
    checkpoints = store(tmp_path)
    write(checkpoints, 20)
    checkpoints.go_back_to(0)
    assert newest(checkpoints) is None
    assert names(tmp_path) == ["step-00000020"]
    write(checkpoints, 0)
    write(checkpoints, 10)
    checkpoints.go_back_to(0)
    assert newest(checkpoints) == "step-00000000"


def test_a_checkpoint_that_cannot_be_gone_back_to_is_named_with_those_that_can(tmp_path: Path) -> None:
    checkpoints = store(tmp_path, keep_last=3)
    with pytest.raises(ValueError, match=r"step 5: it is gone. Steps with a checkpoint: none"):
        checkpoints.go_back_to(5)
    for step in (20, 40, 60):
        write(checkpoints, step)
    with pytest.raises(ValueError, match=r"step 30: it is gone. Steps with a checkpoint: 20, 40, 60"):
        checkpoints.go_back_to(30)
    (checkpoints.path(40) / "driver.json").unlink()
    with pytest.raises(ValueError, match=r"step 40: driver.json is missing. Steps with a checkpoint: 20, 60"):
        checkpoints.go_back_to(40)
    assert newest(checkpoints) == "step-00000060"
