"""What the API says of timelines."""

from __future__ import annotations

from datetime import datetime

from orchestrator.contracts.messages import Phase
from orchestrator.contracts.timeline_message import TimelineColumns
from server.page import Page
from trainer.contracts.text_model import TextModel

MAX_TIMELINE_STEPS = 200
"""Of one answer, as is the next."""
MAX_TIMELINE_SPANS = 100_000


class StepTimeline(TextModel):
    """Who did what when within a step."""

    step: int
    attempt: int
    superseded: bool
    iteration: int | None
    phase: Phase | None
    started_at: datetime
    ended_at: datetime
    timeline: TimelineColumns | None
    """Spans count from `started_at`. Null: nobody measured it, or it is not kept any more."""


class TimelinePart(Page[StepTimeline]):
    """Timelines of consecutive steps, ascending."""

    next_from: int | None
    """Where to go on: the first step of the range that this answer has no room for; null: none."""
