from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from server.steps.lineage import current_view, segments_of

first_steps = st.lists(st.integers(0, 30), min_size=1, max_size=6).map(lambda steps: list(enumerate(steps, start=1)))


@settings(deadline=None)  # times say little on shared machines
@given(first_steps)
def test_each_step_is_shown_from_the_newest_attempt_that_reached_back_to_it(attempts: list[tuple[int, int]]) -> None:
    view = current_view(segments_of(attempts))
    for step in range(40):
        shown = [s.attempt for s in view if s.first <= step and (s.end is None or step < s.end)]
        reaching = [attempt for attempt, first in attempts if first <= step]
        assert shown == ([max(reaching)] if reaching else [])


@settings(deadline=None)  # times say little on shared machines
@given(first_steps)
def test_every_step_of_every_attempt_is_either_shown_or_superseded(attempts: list[tuple[int, int]]) -> None:
    segments = segments_of(attempts)
    for attempt, first in attempts:
        for step in range(first, 40):
            holding = [
                s for s in segments if s.attempt == attempt and s.first <= step and (s.end is None or step < s.end)
            ]
            assert len(holding) == 1


@settings(deadline=None)  # times say little on shared machines
@given(first_steps)
def test_the_current_view_is_in_ascending_order(attempts: list[tuple[int, int]]) -> None:
    view = current_view(segments_of(attempts))
    assert [s.first for s in view] == sorted(s.first for s in view)
    assert view[-1].end is None
