"""Steps in event files of TensorBoard. The one file that knows its library, imported when a run asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.contracts.tracking_spec import TensorboardTracking
from orchestrator.mirrors.mirror import MirroredRun, MirroredStep, Outcome


class TensorboardMirror:
    """A directory for each run, with a file for each attempt."""

    def __init__(self, spec: TensorboardTracking) -> None:
        self._spec = spec
        self._run: MirroredRun | None = None
        self._writer: Any = None

    def open(self, run: MirroredRun) -> None:
        # Fails here, where it is told of the mirror as a whole, and not at the first step.
        import torch.utils.tensorboard  # noqa: F401

        self._run = run

    def step(self, step: MirroredStep) -> None:
        if self._writer is None:
            self._writer = self._open_writer(step.step)
        for name, value in step.values.items():
            self._writer.add_scalar(name, value, step.step, walltime=step.at.timestamp())
        self._writer.flush()

    def close(self, outcome: Outcome) -> None:  # noqa: ARG002  TensorBoard has no word for it
        if self._writer is not None:
            self._writer.close()

    def _open_writer(self, first_step: int) -> Any:
        from torch.utils.tensorboard import SummaryWriter

        if self._run is None:
            raise RuntimeError("open was not called")
        directory = Path(self._spec.directory) if self._spec.directory else self._run.directory / "tensorboard"
        # A later attempt trains some steps again: TensorBoard forgets those of before from here on.
        purge = first_step if self._run.attempt > 1 else None
        writer = SummaryWriter(str(directory), purge_step=purge)
        writer.add_text("config", f"```\n{json.dumps(dict(self._run.config), indent=2)}\n```", first_step)
        return writer
