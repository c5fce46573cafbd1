from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from server.cli.export_model import _checkpoint, _follow, export_model
from server.cli.problem import CommandError, ExitCode
from tests.orchestrator.run_factories import checkpoint


@pytest.mark.parametrize(
    ("steps", "asked", "told"),
    [
        ((), None, "holds no checkpoint"),
        ((20, 40), 30, "no checkpoint before step 30; there are 20, 40"),
    ],
)
def test_a_checkpoint_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, steps: tuple[int, ...], asked: int | None, told: str
) -> None:
    for step in steps:
        (tmp_path / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    with pytest.raises(CommandError, match=told) as caught:
        export_model(tmp_path, tmp_path / "model", step=asked)
    assert caught.value.code is ExitCode.NOT_FOUND


def test_a_checkpoint_without_weights_is_told(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "step-00000020").mkdir(parents=True)
    with pytest.raises(CommandError, match="holds no weights") as caught:
        export_model(tmp_path, tmp_path / "model", step=20)
    assert caught.value.code is ExitCode.BAD_INPUT


def test_the_newest_checkpoint_is_a_whole_one_of_where_the_run_stands(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints"
    store = CheckpointStore(directory, keep_last=9, keep_every=None)
    for step in (20, 40, 60, 80):
        (store.begin(step) / "driver.json").write_text("state")
        store.commit(step, checkpoint(step))
    being_written = store.begin(100)
    assert _checkpoint(directory, None).name == "step-00000080"
    store.go_back_to(60)
    (directory / "step-00000060" / "driver.json").unlink()
    assert _checkpoint(directory, None).name == "step-00000040"
    # Whatever was set aside may still be asked for by name.
    assert _checkpoint(directory, 80).name == "step-00000080"
    store.go_back_to(40)
    (directory / "step-00000040" / "driver.json").unlink()
    (directory / "step-00000020" / "driver.json").unlink()
    with pytest.raises(CommandError, match="there are 20, 40, 60, 80; name one with --step"):
        _checkpoint(directory, None)
    assert being_written.is_dir()


def test_how_far_it_is_is_drawn_and_the_last_line_is_told() -> None:
    console = Console(force_terminal=True, width=100)
    lines = [
        "reading weight: 0 of 40 tensors",
        "reading weight: 30 of 40 tensors",
        "reading weight: all 40 tensors",
        "",
    ]
    with console.capture() as captured:
        assert _follow([*lines, "model: 1,234 parameters"], console) == "model: 1,234 parameters"
    assert "reading weight" in captured.get()
    assert "40/40" in captured.get()
