"""What the live stream says. Each event has an id `epoch-sequence` to resume from.

event: run     data: RunSummary      a run was made or changed
event: steps   data: StepsFrame      steps of a run were recorded
event: resync  data: {}              what was missed is no longer known: ask the API again
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from orchestrator.contracts.messages import NonFinite
from server.runs.schemas import RunSummary
from trainer.contracts.text_model import TextModel


class StepsFrame(TextModel):
    """Steps that were just recorded, in columns of equal length, to be appended to what is drawn."""

    run: str
    attempt: int
    step: tuple[int, ...]
    samples: tuple[float, ...]
    tokens: tuple[float, ...]
    time: tuple[float, ...]
    relative: tuple[float, ...]
    metrics: dict[str, tuple[float | NonFinite | None, ...]]
    """By name, `global_batch_size` and the other counts included; null: not measured at that step."""


class RunEvent(TextModel):
    """A run was made or changed."""

    event: Literal["run"]
    data: RunSummary


class StepsEvent(TextModel):
    """Steps of a run were recorded."""

    event: Literal["steps"]
    data: StepsFrame


class ResyncEvent(TextModel):
    """What was missed is no longer known: ask the API again."""

    event: Literal["resync"]
    data: dict[str, str]
    """Empty."""


LiveEvent: TypeAlias = Annotated[RunEvent | StepsEvent | ResyncEvent, Field(discriminator="event")]
