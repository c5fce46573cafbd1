from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainer.contracts.span import Activity, RemoteClock, Span, Timed

TRAVEL_S = st.floats(0.0, 5.0)


@given(
    offset_s=st.floats(-1e6, 1e6),
    calls=st.lists(st.tuples(TRAVEL_S, st.floats(0.0, 100.0), TRAVEL_S), min_size=1, max_size=20),
)
def test_a_span_is_wrong_by_no_more_than_the_quickest_call_travels(offset_s, calls):
    clock, now = RemoteClock(), 0.0
    for there_s, work_s, back_s in calls:
        began, ended, received = now + there_s, now + there_s + work_s, now + there_s + work_s + back_s
        timed = Timed(value=None, began_s=began - offset_s, ended_s=ended - offset_s)
        clock.observe(timed, sent_s=now, received_s=received)
        now = received
    told = clock.here(Span(activity=Activity.GENERATE, start_s=1.0 - offset_s, end_s=2.0 - offset_s))
    quickest = min(there_s + back_s for there_s, _, back_s in calls)
    assert abs(told.start_s - 1.0) <= quickest + 1e-6
    assert abs(told.end_s - told.start_s - 1.0) <= 1e-6


def test_a_clock_that_runs_away_is_followed():
    clock = RemoteClock()
    for k in range(3):
        # The other clock loses a second with each call, each of which travels 0.01 s in either direction.
        clock.observe(Timed(value=None, began_s=9.01 * k, ended_s=9.01 * k), sent_s=10 * k, received_s=10 * k + 0.02)
    assert abs(clock.here(Span(activity=Activity.PUSH, start_s=18.02, end_s=18.02)).start_s - 20.01) <= 0.01 + 1e-9
