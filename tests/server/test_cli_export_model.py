from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from server.cli.export_model import _follow, export_model
from server.cli.problem import CommandError, ExitCode


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
        export_model(tmp_path, tmp_path / "model", step=None)
    assert caught.value.code is ExitCode.BAD_INPUT


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
