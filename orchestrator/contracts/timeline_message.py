"""Who did what when within a step. Part of the step's message."""

from __future__ import annotations

from typing import Self

from pydantic import NonNegativeFloat, model_validator

from trainer.contracts.span import Activity as Activity
from trainer.contracts.text_model import FieldError, Name, TextModel


class TimelineColumns(TextModel):
    """Spans of a step, in columns of equal length, by start. Spans of one actor do not overlap."""

    actor: tuple[Name, ...]
    """`driver`, `rank 0`, `engine 1`."""
    activity: tuple[Activity, ...]
    start_s: tuple[NonNegativeFloat, ...]
    """Seconds since the step's `started_at`."""
    end_s: tuple[NonNegativeFloat, ...]

    @model_validator(mode="after")
    def _columns_fit(self) -> Self:
        for name in ("activity", "start_s", "end_s"):
            if len(getattr(self, name)) != len(self.actor):
                raise FieldError(f"{name} has {len(getattr(self, name))} entries, actor has {len(self.actor)}", name)
        if any(end < start for start, end in zip(self.start_s, self.end_s, strict=True)):
            raise FieldError("end_s holds an end before its start", "end_s")
        return self
