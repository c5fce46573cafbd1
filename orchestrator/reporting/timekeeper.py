"""The driver's account of its time: what is going on now, who was at what when, and pauses that count for nothing.

    with time.phase("judging", Activity.SCORE): …      a span of the driver's, and the phase that the watchdog looks at
    time.add(engine.take_spans())                      spans of others
    time.timeline(since, seconds)                      all of them since then, for the step's record

One for each attempt. Its clock stands still while the run is paused, so that no step takes longer for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from orchestrator.contracts.timeline_message import TimelineColumns
from orchestrator.reporting.stopwatch import Stopwatch
from trainer.contracts.span import Activity, ActorSpans, Span

DRIVER = "driver"


def _do_nothing(name: str, seconds: float) -> None:
    pass


MAX_SPANS = 5_000
"""Of one step's timeline: a few hundred kilobytes of JSON."""
_MAX_KEPT = 100_000
"""Spans of a step before they are joined; nobody takes them in an iteration that trains nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPhase:
    """What the driver is at."""

    name: str
    since_s: float
    """By the timekeeper's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pause:
    start_s: float
    end_s: float


class Timekeeper:
    """Of one attempt. `open_phase` and `now` may be asked from any thread; the rest belongs to the driver's."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._pauses: list[_Pause] = []
        self._spans: deque[tuple[str, Span]] = deque(maxlen=_MAX_KEPT)
        self._open: OpenPhase | None = None
        self.on_closed: Callable[[str, float], None] = _do_nothing
        """Called with each phase that ends, and its seconds."""

    @property
    def open_phase(self) -> OpenPhase | None:
        return self._open

    def now(self) -> float:
        """Seconds of work, from no special moment on."""
        return self._work(self._clock())

    def stopwatch(self) -> Stopwatch:
        """One that stands still with this clock."""
        return Stopwatch(self.now)

    @contextmanager
    def phase(self, name: str, activity: Activity | None = None) -> Iterator[None]:
        """What the driver does within. activity: the driver's own; None while it waits for others."""
        start = self.now()
        self._open = OpenPhase(name=name, since_s=start)
        try:
            yield
        finally:
            self._open = None
            end = self.now()
            if activity is not None:
                self._spans.append((DRIVER, Span(activity=activity, start_s=start, end_s=end)))
            self.on_closed(name, end - start)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """The time within counts for nothing."""
        start = self._clock()
        try:
            yield
        finally:
            self._pauses.append(_Pause(start_s=start, end_s=self._clock()))

    def add(self, spans: ActorSpans, activity: Activity | None = None) -> None:
        """Spans of others by `time.perf_counter`. activity: what they were for, where that is not their own word."""
        for actor, of_actor in spans.items():
            self._spans.extend(
                (
                    actor,
                    Span(
                        activity=activity or span.activity,
                        start_s=self._work(span.start_s),
                        end_s=self._work(span.end_s),
                    ),
                )
                for span in of_actor
            )

    def timeline(self, since: Stopwatch, seconds: float) -> TimelineColumns:
        """All spans of a step that took so long, by start; they are told once. Very many are joined."""
        spans = sorted(self._spans, key=lambda one: (one[1].start_s, one[0]))
        self._spans.clear()
        # A clock of another process is known to some milliseconds only.
        within = [
            (actor, _moved(span, -since.start_s, seconds)) for actor, span in spans if span.end_s >= since.start_s
        ]
        told = _apart(within if len(within) <= MAX_SPANS else _joined(within))
        return TimelineColumns(
            actor=tuple(actor for actor, _ in told),
            activity=tuple(span.activity for _, span in told),
            start_s=tuple(round(span.start_s, 6) for _, span in told),
            end_s=tuple(round(span.end_s, 6) for _, span in told),
        )

    def _work(self, clock_s: float) -> float:
        """From the clock's time to that of work."""
        paused = (min(clock_s, pause.end_s) - pause.start_s for pause in self._pauses if pause.start_s < clock_s)
        return clock_s - sum(paused)


def _moved(span: Span, by_s: float, most_s: float) -> Span:
    start, end = (min(max(0.0, at + by_s), most_s) for at in (span.start_s, span.end_s))
    return Span(activity=span.activity, start_s=start, end_s=end)


def _apart(spans: Iterable[tuple[str, Span]]) -> list[tuple[str, Span]]:
    """No span begins before the one before it of the same actor has ended."""
    free_s: dict[str, float] = {}
    apart: list[tuple[str, Span]] = []
    for actor, span in spans:
        start = max(span.start_s, free_s.get(actor, 0.0))
        free_s[actor] = end = max(start, span.end_s)
        apart.append((actor, Span(activity=span.activity, start_s=start, end_s=end)))
    return sorted(apart, key=lambda one: (one[1].start_s, one[0]))


def _joined(spans: Iterable[tuple[str, Span]]) -> list[tuple[str, Span]]:
    """What an actor did several times in a row becomes one span, whatever it waited in between."""
    joined: list[tuple[str, Span]] = []
    by_actor = sorted(spans, key=lambda one: (one[0], one[1].start_s))
    for (actor, activity), group in groupby(by_actor, key=lambda one: (one[0], one[1].activity)):
        run = [span for _, span in group]
        joined.append((actor, Span(activity=activity, start_s=run[0].start_s, end_s=run[-1].end_s)))
    return sorted(joined, key=lambda one: (one[1].start_s, one[0]))[:MAX_SPANS]
