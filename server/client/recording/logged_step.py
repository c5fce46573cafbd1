"""What a training loop says of a step, and the message that it becomes. Pure; the loop's thread only copies numbers."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, SupportsFloat, TypeAlias, TypedDict

from pydantic import TypeAdapter

from orchestrator.contracts.messages import MetricMessage, Phase, ScheduleMessage, StepMessage
from trainer.contracts.metric import Metric, Reduction
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepStatus
from trainer.contracts.text_model import Name

_log = logging.getLogger(__name__)
_NAME = TypeAdapter[str](Name)

MetricValue: TypeAlias = SupportsFloat | tuple[SupportsFloat, SupportsFloat] | Metric | None
"""A number, also a tensor of one; a number with the weight behind it; a Metric; None for what was not measured."""


class StepFields(TypedDict, total=False):
    """What else may be said of a step. The names and their meaning are those of `StepReport`."""

    iteration: int
    phase: Phase
    status: StepStatus
    started_at: datetime
    policy_version: int
    num_prompts: int
    num_rollouts: int
    num_loss_tokens: int
    num_microbatches: int
    num_generated: int
    num_filtered: int
    num_dropped: int
    lr_unit: LrUnit
    lr_position_before: int
    lr_position_after: int
    measured_idle_frac: float
    padding_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """A step as it was logged: its numbers are copied, and not yet checked together."""

    fields: dict[str, Any]
    """By the names of `StepMessage`, without the two below."""
    metrics: dict[str, MetricMessage]
    schedule: ScheduleMessage | Mapping[str, Any] | None

    def message(self) -> StepMessage:
        """The step as it is sent. Raises ValueError (pydantic) for what cannot be a step."""
        return StepMessage.model_validate({**self.fields, "metrics": self.metrics, "schedule": self.schedule})


def copied_metrics(metrics: Mapping[str, MetricValue]) -> dict[str, MetricMessage]:
    """The values as they are now: a tensor may be overwritten by the next step. What is no metric is left out."""
    copied = {}
    for name, value in metrics.items():
        try:
            copied[_NAME.validate_python(name)] = metric_message(value)
        except (TypeError, ValueError) as error:
            _log.warning("the metric %r is left out of a step: %s", name, error)
    return copied


def metric_message(metric: MetricValue) -> MetricMessage:
    """The metric as it is sent: NaN and infinities by their names, null where there was nothing to measure.

    >>> metric_message((math.nan, 2)).value, metric_message((0.5, 0)).value
    ('NaN', None)
    """
    match metric:
        case Metric():
            return _message(metric.value, metric.count, metric.reduction)
        case None:
            return _message(None, 0.0, Reduction.MEAN)
        case str() | bytes():
            raise TypeError(f"{metric!r} is a text, not a number")
        case (value, weight):
            return _message(float(value), float(weight), Reduction.MEAN)
        case _:
            return _message(float(metric), 1.0, Reduction.MEAN)


def _message(value: float | None, weight: float, reduction: Reduction) -> MetricMessage:
    told: float | str | None = value
    if value is None or weight == 0:
        told = None
    elif not math.isfinite(value):
        told = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return MetricMessage.model_validate({"value": told, "weight": weight, "reduction": reduction})
