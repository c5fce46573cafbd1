"""Trackers that do what a test tells them to, and what they are told."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.contracts.messages import MetricMessage, StepMessage
from orchestrator.mirrors.mirror import MirroredRun, MirroredStep, Outcome
from tests.orchestrator.run_factories import small_step
from trainer.contracts.metric import Reduction

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_run(directory: Path, **changes: Any) -> MirroredRun:
    fields: dict[str, Any] = {
        "id": "run_1",
        "name": "demo",
        "attempt": 1,
        "tags": {"task": "spelling"},
        "config": {"seed": 7, "batch": {"type": "all"}},
        "directory": directory,
    }
    return MirroredRun(**(fields | changes))


def a_step(step: int, **values: float) -> MirroredStep:
    return MirroredStep(step=step, at=AT, values=values)


def a_message(step: int, **metrics: tuple[Any, float]) -> StepMessage:
    """metrics: value and weight."""
    told = {
        name.replace("__", "/"): MetricMessage.model_validate(
            {"value": value, "weight": weight, "reduction": Reduction.MEAN}
        )
        for name, (value, weight) in metrics.items()
    }
    return small_step(step).model_copy(update={"metrics": told})


class FakeTracker:
    """Raises at the steps it is told to; with `hangs` it waits at each one until it is let go."""

    def __init__(self, *, raises_at: tuple[int, ...] = (), opens: bool = True, hangs: bool = False) -> None:
        self._raises_at = raises_at
        self._opens = opens
        self.go_on = threading.Event()
        if not hangs:
            self.go_on.set()
        self.steps: list[int] = []
        self.outcome: Outcome | None = None

    def open(self, run: MirroredRun) -> None:
        if not self._opens:
            raise ImportError("No module named 'wandb'")

    def step(self, step: MirroredStep) -> None:
        self.go_on.wait()
        if step.step in self._raises_at:
            raise ConnectionError("tracker is out")
        self.steps.append(step.step)

    def close(self, outcome: Outcome) -> None:
        self.outcome = outcome
