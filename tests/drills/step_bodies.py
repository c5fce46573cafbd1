"""Bodies of steps:batch, made quickly and in great number: every step has the same samples and other values."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from tests.server.factories import START, metric, step_message

JSON = {"Content-Type": "application/json"}


class StepBodies:
    """Steps of one shape. The value of each metric tells which step it belongs to."""

    def __init__(self, *, num_metrics: int = 1, lengths: Sequence[int] = (3, 4)) -> None:
        self._names = [f"m{i}" for i in range(num_metrics)] if num_metrics > 1 else ["train/loss"]
        message = step_message(0, lengths=lengths, metrics=dict.fromkeys(self._names, metric(0.0)))
        self._template: dict[str, Any] = message.model_dump(mode="json")
        self.batch_size = len(lengths)

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def body(self, steps: Sequence[int], *, attempt: int = 1) -> bytes:
        """One batch."""
        return orjson.dumps({"attempt": attempt, "steps": [self._step(step) for step in steps]})

    def value(self, step: int) -> float:
        """What every metric has at that step."""
        return step * 0.5

    def _step(self, step: int) -> dict[str, Any]:
        made = copy.copy(self._template)
        began_s = START.timestamp() + step
        metrics = {name: {"value": self.value(step), "weight": 1.0, "reduction": "mean"} for name in self._names}
        return made | {
            "step": step,
            "iteration": step,
            "policy_version": step,
            "started_at": _moment(began_s),
            "ended_at": _moment(began_s + 1),
            "metrics": metrics,
        }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
