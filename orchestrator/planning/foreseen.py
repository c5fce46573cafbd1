"""What planning found out of a run, before it is put into words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.contracts.plan import PlannedGeometry, PlannedStep
from orchestrator.geometry import StepGeometry
from orchestrator.planning.model_shape import ModelShape
from orchestrator.planning.sample_lengths import SampleLengths
from orchestrator.planning.step_sizes import RunSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """A run that has not begun."""

    geometry: StepGeometry
    lengths: SampleLengths
    model: ModelShape
    sizes: RunSizes
    steps: tuple[PlannedStep, ...]

    @property
    def scheduled(self) -> list[PlannedGeometry]:
        """Of the steps that were cut into micro-batches."""
        return [step.geometry for step in self.steps if step.geometry is not None]

    @property
    def mean_idle_frac(self) -> float:
        return self._mean(lambda step: step.predicted_idle_frac)

    @property
    def mean_idle_bound_frac(self) -> float:
        return self._mean(lambda step: step.idle_bound_frac)

    @property
    def last_lr_position(self) -> float:
        """Where the learning-rate schedule stands at the end of the whole run."""
        if not self.steps:
            return 0.0
        return self.steps[-1].lr_position_after * self.sizes.num_steps / len(self.steps)

    def _mean(self, frac: Callable[[PlannedGeometry], float]) -> float:
        """A mean over steps that weighs by their tokens, as a stand-in for their time."""
        scheduled = self.scheduled
        num_tokens = sum(step.num_tokens for step in scheduled)
        return sum(frac(step) * step.num_tokens for step in scheduled) / num_tokens if num_tokens else 0.0
