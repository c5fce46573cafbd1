"""What a process was at, and since when: how trainers and engines tell where the time goes.

Each process measures with its own clock; whoever called it brings that onto its own (`RemoteClock`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias


class Activity(StrEnum):
    """What an actor is at. What no span covers is waiting."""

    GENERATE = "generate"
    SCORE = "score"
    """Judging responses."""
    LOG_PROBS = "log_probs"
    FORWARD_BACKWARD = "forward_backward"
    """One micro-batch; two spans where a pipeline puts something between its forward and its backward."""
    OPTIMIZER = "optimizer"
    """Gradient reduction and the update."""
    PUSH = "push"
    """Weights on their way to the engines."""
    EVALUATE = "evaluate"
    SAVE = "save"
    """The copy of the state; it is written while training goes on."""
    SCHEDULE = "schedule"
    """Advantages, cutting into steps, packing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From when to when, in seconds of a clock that nobody sets back."""

    activity: Activity
    start_s: float
    end_s: float


ActorSpans: TypeAlias = Mapping[str, Sequence[Span]]
"""Spans by actor: `rank 0`, `engine 1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The answer of another process, and when that process worked on it, by its own clock."""

    value: Any
    began_s: float
    ended_s: float
    spans: tuple[Span, ...] = ()


class RemoteClock:
    """Another process's clock, seen from here.

    Whatever it says, a call began after it was sent and ended before its answer came. The offset is kept within what
    every call allows, so that clocks that drift apart are followed; it is wrong by at most the time that a call and
    its answer travel: a few milliseconds, and of another machine those of the network.
    """

    def __init__(self) -> None:
        self._offset_s: float | None = None

    def observe(self, timed: Timed, *, sent_s: float, received_s: float) -> None:
        """Learn from one call. sent_s, received_s: by the clock here."""
        least, most = sent_s - timed.began_s, received_s - timed.ended_s
        if self._offset_s is None or most < least:
            self._offset_s = (least + most) / 2
        else:
            self._offset_s = min(max(self._offset_s, least), most)

    def here(self, span: Span) -> Span:
        """A span by the clock here; something was observed before."""
        offset_s = self._offset_s or 0.0
        return Span(activity=span.activity, start_s=span.start_s + offset_s, end_s=span.end_s + offset_s)
