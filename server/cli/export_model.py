"""`swell export-model`: a run's checkpoint as a Hugging Face model directory. Works on the machine of the server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from orchestrator.contracts.checkpoint_directory import checkpoint_name, newest_step, steps_on_disk
from server.cli.problem import CommandError, ExitCode, command_error

_PROGRESS = re.compile(r"(?P<what>.+): (?:(?P<done>\d+) of (?P<total>\d+)|all (?P<all>\d+)) \w+")
"""How `trainer/contracts/progress.py` tells how far it is."""


def export_model(run_dir: Path, target: Path, *, step: int | None, console: Console | None = None) -> str:
    """Export the checkpoint before that step, or the newest one of where the run stands; returns what to tell.

    console: where to show how far it is; None, or a pipe: nowhere.

    Raises:
        CommandError: there is no such checkpoint here, or it cannot be exported.
    """
    checkpoint = _checkpoint(run_dir / "checkpoints", step)
    # In a process of its own: the command line does without torch.
    with subprocess.Popen(
        [sys.executable, "-m", "trainer.export", str(checkpoint), str(target)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as exporting:
        told = _follow(exporting.stderr or (), console)
    if exporting.returncode:
        raise command_error(ExitCode.BAD_INPUT, "export-failed", "The model could not be exported", told)
    return f"{told}, from {checkpoint.name}"


def _follow(lines: Iterable[str], console: Console | None) -> str:
    """Draw the progress that the lines tell; returns the last of them."""
    last = ""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_shown = console is not None and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        task = bar.add_task("starting", total=None)
        for line in filter(None, map(str.strip, lines)):
            last = line
            if (told := _PROGRESS.fullmatch(line)) is not None:
                total = int(told["total"] or told["all"])
                bar.update(task, description=told["what"], total=total, completed=int(told["done"] or total))
    return last


def _checkpoint(directory: Path, step: int | None) -> Path:
    there = steps_on_disk(directory)
    if not there:
        raise _missing(f"{directory} holds no checkpoint; a run writes one as checkpoint.every_steps says")
    listed = ", ".join(map(str, there))
    if step is not None and step not in there:
        raise _missing(f"there is no checkpoint before step {step}; there are {listed}")
    chosen = newest_step(directory) if step is None else step
    if chosen is None:
        raise _missing(f"no checkpoint is whole and where the run stands; there are {listed}; name one with --step")
    return directory / checkpoint_name(chosen)


def _missing(detail: str) -> CommandError:
    return command_error(ExitCode.NOT_FOUND, "no-checkpoint", "There is no such checkpoint", detail)
