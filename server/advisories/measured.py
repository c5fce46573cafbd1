"""Figures of steps, measured one by one, and what rules say of them together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from server.steps.schemas import StepRow

Measured = Sequence[tuple[StepRow, float]]
"""Steps with the value of one figure."""


def value_of(measured: tuple[StepRow, float]) -> float:
    return measured[1]


def mean_of(measured: Measured) -> float:
    return fmean(value for _, value in measured)


def step_s_of(step: StepRow) -> float:
    """Seconds from the step's start to its end."""
    return (step.ended_at - step.started_at).total_seconds()
