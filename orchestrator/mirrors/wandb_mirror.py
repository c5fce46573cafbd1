"""Steps in Weights & Biases. The one file that knows its library, which is imported when a run asks for it."""

from __future__ import annotations

import os
from typing import Any

from orchestrator.contracts.tracking_spec import WandbTracking
from orchestrator.mirrors.mirror import MirroredRun, MirroredStep, Outcome


class WandbMirror:
    """A run there for each run here, of the same id; a later attempt goes on with it."""

    def __init__(self, spec: WandbTracking) -> None:
        self._spec = spec
        self._run: Any = None

    def open(self, run: MirroredRun) -> None:
        import wandb

        settings = wandb.Settings(
            api_key=os.environ.get(self._spec.api_key_env),
            # The driver's own output is recorded here, and is none of W&B's.
            console="off",
            silent=True,
            disable_git=True,
            disable_code=True,
            **({"base_url": self._spec.base_url} if self._spec.base_url else {}),
        )
        self._run = wandb.init(
            project=self._spec.project,
            entity=self._spec.entity,
            mode=self._spec.mode.value,
            id=run.id,
            name=run.name,
            resume="allow",
            reinit="create_new",
            config=dict(run.config),
            tags=[f"{tag}={value}"[:64] for tag, value in run.tags.items()],
            dir=str(run.directory),
            settings=settings,
        )
        # Steps that a later attempt trains again come back: W&B's own step only ever grows.
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def step(self, step: MirroredStep) -> None:
        self._run.log({**step.values, "step": step.step})

    def close(self, outcome: Outcome) -> None:
        if self._run is not None:
            self._run.finish(exit_code=1 if outcome == "failed" else 0)
