"""What the rules know of a run. Plain data; `queries.py` fills it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.rollouts.schemas import IterationBooks
from server.steps.schemas import StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRewards:
    """The rewards of an iteration's recorded rollouts."""

    iteration: int
    num_scored: int
    low: float
    high: float
    rollout_id: str
    """One of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitedRollout:
    """A rollout that was trained after it had waited."""

    rollout_id: str
    step: int | None
    age: int
    """Iterations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The newest steps of a run and what belongs to them."""

    is_running: bool
    now: datetime
    activity: str | None
    """What its driver is at."""
    dp: int | None
    """Data-parallel ranks; None: not known."""
    steps: Sequence[StepRow]
    """By ascending number."""
    books: Sequence[IterationBooks]
    """Of the newest iterations, ascending."""
    rewards: Sequence[IterationRewards]
    """Of the same iterations, as far as rollouts are recorded."""
    oldest_trained: WaitedRollout | None
    """The one of them that had waited longest."""
    truncated_rollout: str | None
    """One of them."""
    unscorable_rollout: str | None

    def measured(self, name: str) -> list[tuple[StepRow, float]]:
        """The steps at which a metric has a finite value, with it."""
        found = []
        for step in self.steps:
            metric = step.metrics.get(name)
            if metric is not None and isinstance(metric.value, float | int):
                found.append((step, float(metric.value)))
        return found

    def known(self, figure: Callable[[StepRow], float | None]) -> list[tuple[StepRow, float]]:
        """The steps of which a figure is known, with it."""
        return [(step, float(value)) for step in self.steps if (value := figure(step)) is not None]
