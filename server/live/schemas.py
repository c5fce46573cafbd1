"""What the live stream says. Each event has an id `epoch-sequence` to resume from.

event: run     data: RunSummary      a run was made or changed
event: steps   data: StepsFrame      steps of a run were recorded
event: resync  data: {}              what was missed is no longer known: ask the API again
"""

from __future__ import annotations

from orchestrator.contracts.messages import NonFinite
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
