"""What the API says of records that are not kept."""

from __future__ import annotations

from datetime import datetime

from server.retention.limits import RecordKind
from trainer.contracts.text_model import TextModel


class PrunedRecords(TextModel):
    """What was taken away of one kind, because the server keeps no more of it."""

    kind: RecordKind
    up_to: int
    """Below it nothing is kept: a step, the id of a log line, or a moment in microseconds since 1970."""
    num_removed: int
    """Schedules, timelines, lines, samples; of rollouts, iterations."""
    limit: int
    """Steps, lines or days that are kept."""
    at: datetime
    """When that was last done."""
    message: str
    """For people: `not kept (limit: …)`."""


class RetentionInfo(TextModel):
    """How much is kept of a run, and what of it is gone."""

    rollout_steps: int | None
    """The server's limits; null: everything is kept."""
    log_lines: int | None
    schedule_steps: int | None
    timeline_steps: int | None
    system_days: int | None
    pruned: tuple[PrunedRecords, ...]
