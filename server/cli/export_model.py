"""`swell export-model`: a run's checkpoint as a Hugging Face model directory. Works on the machine of the server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from server.cli.problem import CommandError, ExitCode, command_error

_CHECKPOINT = re.compile(r"step-(\d+)")


def export_model(run_dir: Path, target: Path, *, step: int | None) -> str:
    """Export the checkpoint before that step, or the newest one; returns what to tell.

    Raises:
        CommandError: there is no such checkpoint here, or it cannot be exported.
    """
    checkpoint = _checkpoint(run_dir / "checkpoints", step)
    # In a process of its own: the command line does without torch.
    done = subprocess.run(
        [sys.executable, "-m", "trainer.export", str(checkpoint), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    told = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode:
        raise command_error(ExitCode.BAD_INPUT, "export-failed", "The model could not be exported", told)
    return f"{told}, from {checkpoint.name}"


def _checkpoint(directory: Path, step: int | None) -> Path:
    found = {
        int(match[1]): path
        for path in (directory.iterdir() if directory.is_dir() else ())
        if (match := _CHECKPOINT.fullmatch(path.name))
    }
    if not found:
        raise _missing(f"{directory} holds no checkpoint; a run writes one as checkpoint.every_steps says")
    if step is not None and step not in found:
        raise _missing(f"there is no checkpoint before step {step}; there are {', '.join(map(str, sorted(found)))}")
    return found[max(found) if step is None else step]


def _missing(detail: str) -> CommandError:
    return command_error(ExitCode.NOT_FOUND, "no-checkpoint", "There is no such checkpoint", detail)
