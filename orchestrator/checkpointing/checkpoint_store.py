"""The checkpoints of a run on disk: never half, newest first, old ones pruned. Called by the driver.

    checkpoints/step-00000040/
        driver.json          where the run stands (see `DriverState`)
        …                    what the trainer wrote
        manifest.json        size of every file and what is told of it, written last
    checkpoints/.step-00000060.partial/      being written, or left behind by a process that died
    checkpoints/aside.json                   steps that the run went back behind, and has not come to again

A checkpoint is written under its partial name and renamed when every byte of it is on disk. Whatever dies in between,
the one before it stays as it was. A run that goes back to an earlier checkpoint sets the newer ones aside: they stay,
and may be gone back to by name, but no attempt takes one for the newest.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from orchestrator.contracts.checkpoint_directory import (
    ASIDE,
    FORMAT,
    MANIFEST,
    checkpoint_name,
    checkpoint_problem,
    newest_step,
    steps_aside,
    steps_on_disk,
)
from orchestrator.contracts.checkpoint_messages import CheckpointMessage

_PARTIAL = re.compile(r"\.step-\d{8,}\.partial")


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
        partial = self._partial(step)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        return partial

    def path(self, step: int) -> Path:
        """Where a checkpoint is once it is whole."""
        return self._directory / checkpoint_name(step)

    def num_bytes(self, step: int) -> int:
        """Of what has been written into `begin`'s directory so far."""
        return sum(_sizes(self._partial(step)).values())

    def commit(self, step: int, message: CheckpointMessage) -> Path:
        """Make what was written into `begin`'s directory the newest checkpoint, at once and for good.

        message: kept with it, so that its removal can be told by another attempt.
        """
        partial, final = self._partial(step), self.path(step)
        told = message.model_dump(mode="json")
        (partial / MANIFEST).write_text(
            json.dumps({"format": FORMAT, "step": step, "files": _sizes(partial), "message": told})
        )
        for path in partial.iterdir():
            _flush(path)
        _flush(partial)
        # A second attempt may come to a step that the first one saved: its state is the one to go on from.
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
        _flush(self._directory)
        self._set_aside(self._aside() - {step})
        return final

    def newest(self) -> Path | None:
        """The newest checkpoint that is whole, or None without any."""
        step = newest_step(self._directory)
        return None if step is None else self.path(step)

    def go_back_to(self, step: int) -> None:
        """Make the checkpoint of this step the newest one; what is newer is set aside. Step 0 begins anew.

        Raises:
            ValueError: there is no such checkpoint, or it is damaged.
        """
        is_there = self.path(step).exists()
        problem = checkpoint_problem(self.path(step)) if is_there else "it is gone"
        if problem is not None and (is_there or step > 0):
            whole = [str(other) for other in self._steps() if checkpoint_problem(self.path(other)) is None]
            raise ValueError(
                f"the run cannot go on from its checkpoint of step {step}: {problem}. "
                f"Steps with a checkpoint: {', '.join(whole) or 'none'}"
            )
        newer = {other for other in self._steps() if other > step}
        self._set_aside((self._aside() | newer) - {step})

    def superfluous(self) -> Sequence[int]:
        """Steps whose checkpoints are old enough to go. What was set aside stays until the run has come past it."""
        line = self._line()
        if not line:
            return []
        kept = set(line[-self._keep_last :])
        return [
            step
            for step in self._steps()
            if step not in kept and step <= line[-1] and (self._keep_every is None or step % self._keep_every)
        ]

    def message(self, step: int) -> CheckpointMessage | None:
        """What was told of a checkpoint when it was committed; None where nobody can read it."""
        try:
            return CheckpointMessage.model_validate(json.loads((self.path(step) / MANIFEST).read_text())["message"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self, step: int) -> None:
        """Delete a checkpoint."""
        shutil.rmtree(self.path(step), ignore_errors=True)
        self._set_aside(self._aside() - {step})

    def _partial(self, step: int) -> Path:
        return self._directory / f".{checkpoint_name(step)}.partial"

    def _steps(self) -> Sequence[int]:
        return steps_on_disk(self._directory)

    def _line(self) -> Sequence[int]:
        """Steps whose checkpoints led to where the run stands."""
        aside = self._aside()
        return [step for step in self._steps() if step not in aside]

    def _aside(self) -> set[int]:
        return steps_aside(self._directory)

    def _set_aside(self, steps: set[int]) -> None:
        """Remember them for good before anything else is done."""
        if steps == self._aside():
            return
        path = self._directory / ASIDE
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(sorted(steps)))
        _flush(temporary)
        temporary.replace(path)
        _flush(self._directory)


def _sizes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted(directory.iterdir())}


def _flush(path: Path) -> None:
    """Wait until the disk has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
