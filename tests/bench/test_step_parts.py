from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.step_parts import PARTS, parts_s
from orchestrator.contracts.timeline_message import TimelineColumns
from trainer.contracts.span import Activity


def timeline(*spans: tuple[str, Activity, float, float]) -> TimelineColumns:
    actors, activities, starts, ends = zip(*spans, strict=True) if spans else ((), (), (), ())
    return TimelineColumns(actor=actors, activity=activities, start_s=starts, end_s=ends)


def test_a_moment_belongs_to_whoever_the_others_wait_for() -> None:
    told = parts_s(
        timeline(
            ("engine 0", Activity.GENERATE, 0, 3),
            ("engine 1", Activity.GENERATE, 0, 2),
            ("driver", Activity.SCORE, 3, 3.5),
            ("rank 0", Activity.FORWARD_BACKWARD, 4, 6),
            ("rank 1", Activity.FORWARD_BACKWARD, 4, 5),
            ("rank 1", Activity.OPTIMIZER, 5, 7),
            ("rank 0", Activity.OPTIMIZER, 6, 7),
            ("rank 0", Activity.PUSH, 8, 9),
        )
    )
    assert told == {"generate": 3, "log_probs": 0, "forward_backward": 2, "optimizer": 1, "push": 1}


span = st.tuples(
    st.sampled_from(["rank 0", "rank 1", "driver"]), st.sampled_from(Activity), st.floats(0, 10), st.floats(0, 10)
)


@given(st.lists(span, max_size=12))
def test_no_moment_is_told_twice(spans: list[tuple[str, Activity, float, float]]) -> None:
    ordered = [(actor, activity, min(a, b), max(a, b)) for actor, activity, a, b in spans]
    told = parts_s(timeline(*ordered))
    assert set(told) == set(PARTS)
    assert sum(told.values()) <= 10 + 1e-9
    for part, seconds in told.items():
        own = sum(end - start for _, activity, start, end in ordered if activity is part)
        assert seconds <= own + 1e-9
    first = parts_s(timeline(*[one for one in ordered if one[1] is PARTS[0]]))
    assert first[PARTS[0]] == pytest.approx(told[PARTS[0]])
