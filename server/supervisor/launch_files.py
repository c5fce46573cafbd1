"""What each attempt was launched with, kept beside the run's journal.

An attempt's token is told once. A server that dies between making an attempt and submitting its job leaves a file from
which the next server submits the same job.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.contracts.messages import AttemptLaunch


def write_launch(launch: AttemptLaunch) -> None:
    """Keep it, readable by this user only."""
    path = launch_path(Path(launch.run_dir), launch.attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.touch(mode=0o600)
    partial.write_text(launch.model_dump_json())
    partial.replace(path)


def read_launch(run_dir: Path, attempt: int) -> AttemptLaunch | None:
    """What was kept, or None when the server did not get so far."""
    try:
        return AttemptLaunch.model_validate_json(launch_path(run_dir, attempt).read_bytes())
    except FileNotFoundError:
        return None


def launch_path(run_dir: Path, attempt: int) -> Path:
    return run_dir / f"launch-{attempt}.json"
