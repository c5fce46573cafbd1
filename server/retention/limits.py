"""How much a run keeps of its large records. Everything small (steps, metrics, books, events) is kept for good."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RecordKind(StrEnum):
    """What is large enough to be pruned."""

    ROLLOUTS = "rollouts"
    """Texts and tokens; the rewards and the books stay."""
    LOGS = "logs"
    SCHEDULES = "schedules"
    TIMELINES = "timelines"
    SYSTEM = "system"
    """Samples of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """None: everything is kept."""

    rollout_steps: int | None = 500
    """Of the newest so many steps."""
    log_lines: int | None = 200_000
    """The newest lines of a run."""
    schedule_steps: int | None = None
    timeline_steps: int | None = 5_000
    system_days: int | None = 30

    def of(self, kind: RecordKind) -> int | None:
        """The limit of one kind, in its own unit."""
        return {
            RecordKind.ROLLOUTS: self.rollout_steps,
            RecordKind.LOGS: self.log_lines,
            RecordKind.SCHEDULES: self.schedule_steps,
            RecordKind.TIMELINES: self.timeline_steps,
            RecordKind.SYSTEM: self.system_days,
        }[kind]


UNITS = {
    RecordKind.ROLLOUTS: "steps",
    RecordKind.LOGS: "lines",
    RecordKind.SCHEDULES: "steps",
    RecordKind.TIMELINES: "steps",
    RecordKind.SYSTEM: "days",
}


def limit_sentence(kind: RecordKind, kept: int) -> str:
    """Why something is not there.

    >>> limit_sentence(RecordKind.SCHEDULES, 500)
    'not kept (limit: schedules of the newest 500 steps)'
    """
    if kind is RecordKind.LOGS:
        return f"not kept (limit: the newest {kept} log lines of a run)"
    if kind is RecordKind.SYSTEM:
        return f"not kept (limit: samples of the machine of the last {kept} days)"
    return f"not kept (limit: {kind} of the newest {kept} steps)"
