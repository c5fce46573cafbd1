from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.timeline_message import TimelineColumns
from orchestrator.reporting import timekeeper
from orchestrator.reporting.timekeeper import Timekeeper
from trainer.contracts.span import Activity, Span


@dataclass(slots=True)
class Clock:
    """Goes on by as much as a test says."""

    at_s: float = 1000.0
    told: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self) -> float:
        return self.at_s

    def wait(self, seconds: float) -> None:
        self.at_s += seconds


def span(start: float, end: float, activity: Activity = Activity.GENERATE) -> Span:
    return Span(activity=activity, start_s=1000.0 + start, end_s=1000.0 + end)


def rows(timeline: TimelineColumns) -> list[tuple[str, str, float, float]]:
    return list(zip(timeline.actor, timeline.activity, timeline.start_s, timeline.end_s, strict=True))


def test_a_timeline_holds_what_driver_and_actors_did_since_the_step_began() -> None:
    clock = Clock()
    time = Timekeeper(clock)
    since = time.stopwatch()
    clock.wait(1)
    with time.phase("score", Activity.SCORE):
        clock.wait(2)
    with time.phase("train"):
        clock.wait(4)
    time.add({"engine 1": [span(0.25, 0.75)], "rank 0": [span(3.5, 6.5, Activity.FORWARD_BACKWARD)]})
    assert rows(time.timeline(since, since.seconds)) == [
        ("engine 1", "generate", 0.25, 0.75),
        ("driver", "score", 1.0, 3.0),
        ("rank 0", "forward_backward", 3.5, 6.5),
    ]
    assert rows(time.timeline(since, since.seconds)) == [], "a span is told once"


def test_a_pause_is_in_no_duration_and_moves_what_comes_after_it() -> None:
    clock = Clock()
    time = Timekeeper(clock)
    since = time.stopwatch()
    clock.wait(1)
    with time.standing_still():
        clock.wait(3600)
    with time.phase("score", Activity.SCORE):
        clock.wait(2)
    time.add({"engine 0": [span(0, 1), span(3601.5, 3602)]})
    assert since.seconds == 3
    assert rows(time.timeline(since, since.seconds)) == [
        ("engine 0", "generate", 0.0, 1.0),
        ("driver", "score", 1.0, 3.0),
        ("engine 0", "generate", 1.5, 2.0),
    ]


def test_what_ended_before_the_step_is_not_told_and_clocks_that_differ_a_little_do_no_harm() -> None:
    clock = Clock()
    time = Timekeeper(clock)
    clock.wait(10)
    since = time.stopwatch()
    clock.wait(5)
    time.add({"rank 0": [span(0, 9), span(9.999, 12), span(11.999, 15.001)]})
    assert rows(time.timeline(since, 5.0)) == [("rank 0", "generate", 0.0, 2.0), ("rank 0", "generate", 2.0, 5.0)]


def test_an_evaluation_is_no_generation() -> None:
    time = Timekeeper(Clock())
    since = time.stopwatch()
    time.add({"engine 0": [span(0, 1)]}, Activity.EVALUATE)
    assert rows(time.timeline(since, 1.0)) == [("engine 0", "evaluate", 0.0, 1.0)]


def test_very_many_spans_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timekeeper, "MAX_SPANS", 4)
    time = Timekeeper(Clock())
    since = time.stopwatch()
    parts = [span(k, k + 0.5, Activity.FORWARD_BACKWARD) for k in range(4)]
    time.add({"rank 0": [*parts, span(4, 5, Activity.OPTIMIZER)], "rank 1": parts})
    assert rows(time.timeline(since, 5.0)) == [
        ("rank 0", "forward_backward", 0.0, 3.5),
        ("rank 1", "forward_backward", 0.0, 3.5),
        ("rank 0", "optimizer", 4.0, 5.0),
    ]


def test_the_phase_that_is_open_can_be_seen_and_its_end_is_told() -> None:
    clock = Clock()
    time = Timekeeper(clock)
    time.on_closed = lambda name, seconds: clock.told.append((name, seconds))
    assert time.open_phase is None
    with time.phase("generate"):
        clock.wait(2)
        assert time.open_phase is not None
        assert (time.open_phase.name, time.now() - time.open_phase.since_s) == ("generate", 2)
    assert time.open_phase is None
    assert clock.told == [("generate", 2)]


SECONDS = st.floats(0, 100, allow_nan=False)


@given(
    spans=st.lists(st.tuples(st.sampled_from(["rank 0", "rank 1"]), SECONDS, SECONDS), max_size=30),
    pauses=st.lists(SECONDS, max_size=3),
)
def test_spans_of_an_actor_never_overlap_and_stay_within_the_step(
    spans: list[tuple[str, float, float]], pauses: list[float]
) -> None:
    clock = Clock()
    time = Timekeeper(clock)
    since = time.stopwatch()
    for pause in pauses:
        clock.wait(10)
        with time.standing_still():
            clock.wait(pause)
    clock.wait(50)
    for actor, start, length in spans:
        time.add({actor: [span(start, start + length)]})
    told = rows(time.timeline(since, since.seconds))
    ends: defaultdict[str, float] = defaultdict(float)
    for actor, _, start, end in told:
        assert ends[actor] <= start <= end <= since.seconds + 1e-6
        ends[actor] = end
    assert [start for _, _, start, _ in told] == sorted(start for _, _, start, _ in told)
