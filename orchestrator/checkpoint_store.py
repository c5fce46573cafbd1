"""The checkpoints of a run on disk: never half, newest first, old ones pruned. Called by the driver.

    checkpoints/step-00000040/
        driver.json          where the run stands (see `DriverState`)
        …                    what the trainer wrote
        manifest.json        size of every file, written last
    checkpoints/.step-00000060.partial/      being written, or left behind by a process that died

A checkpoint is written under its partial name and renamed when every byte of it is on disk. Whatever dies in between,
the one before it stays as it was.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_log = logging.getLogger(__name__)

_NAME = re.compile(r"step-(\d{8,})")
_PARTIAL = re.compile(r"\.step-\d{8,}\.partial")
MANIFEST = "manifest.json"
_FORMAT = 1


class CheckpointStore:
    """The checkpoints of one run. One process writes; any may read."""

    def __init__(self, directory: Path, *, keep_last: int, keep_every: int | None) -> None:
        """Make the directory, and remove what an interrupted writer left behind.

        keep_last: this many of the newest stay.
        keep_every: checkpoints of steps that are a multiple of it stay for good; None: none does.
        """
        self._directory = directory
        self._keep_last = keep_last
        self._keep_every = keep_every
        directory.mkdir(parents=True, exist_ok=True)
        for path in directory.iterdir():
            if _PARTIAL.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)

    def begin(self, step: int) -> Path:
        """An empty directory to write the checkpoint before this step into."""
        partial = self._directory / f".{_name(step)}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        return partial

    def commit(self, step: int) -> Path:
        """Make what was written into `begin`'s directory the newest checkpoint, at once and for good."""
        partial, final = self._directory / f".{_name(step)}.partial", self._directory / _name(step)
        sizes = {path.name: path.stat().st_size for path in sorted(partial.iterdir())}
        (partial / MANIFEST).write_text(json.dumps({"format": _FORMAT, "step": step, "files": sizes}))
        for path in partial.iterdir():
            _flush(path)
        _flush(partial)
        # A second attempt may come to a step that the first one saved: its state is the one to go on from.
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
        _flush(self._directory)
        self._prune()
        return final

    def newest(self) -> Path | None:
        """The newest checkpoint that is whole, or None without any."""
        for step in reversed(self._steps()):
            path = self._directory / _name(step)
            problem = checkpoint_problem(path)
            if problem is None:
                return path
            _log.warning("checkpoint %s is left out: %s", path.name, problem)
        return None

    def _steps(self) -> Sequence[int]:
        found = (_NAME.fullmatch(path.name) for path in self._directory.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def _prune(self) -> None:
        for step in self._steps()[: -self._keep_last]:
            if self._keep_every is None or step % self._keep_every:
                shutil.rmtree(self._directory / _name(step), ignore_errors=True)


def checkpoint_problem(path: Path) -> str | None:
    """Why the checkpoint cannot be loaded, in one sentence, or None when every file is there in full."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        return f"{MANIFEST} cannot be read: {error}"
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f"{MANIFEST} has another format than {_FORMAT}"
    for name, size in manifest["files"].items():
        file = path / name
        if not file.is_file():
            return f"{name} is missing"
        if file.stat().st_size != size:
            return f"{name} has {file.stat().st_size} bytes, {MANIFEST} says {size}"
    return None


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _flush(path: Path) -> None:
    """Wait until the disk has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
