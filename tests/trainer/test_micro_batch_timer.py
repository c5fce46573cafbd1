from __future__ import annotations

import pytest

from trainer.contracts.span import Activity, Span
from trainer.micro_batch_timer import MicroBatchTimer


def timer_of(forward: list[tuple[float, float]], backward: list[tuple[float, float]]) -> MicroBatchTimer:
    timer = MicroBatchTimer()
    timer("forward-compute").passes = forward
    timer("backward-compute").passes = backward
    return timer


def timer_after(passes: int) -> MicroBatchTimer:
    """Forward of pass i takes 1 + i seconds, backward 2 + i."""
    forward = [(10.0 * i, 11.0 * i + 1) for i in range(passes)]
    return timer_of(forward, [(100 + 10.0 * i, 102 + 11.0 * i) for i in range(passes)])


def span(start: float, end: float) -> Span:
    return Span(activity=Activity.FORWARD_BACKWARD, start_s=start, end_s=end)


def test_seconds_are_those_of_forward_and_backward():
    assert timer_after(2).micro_batch_s() == [3.0, 5.0]
    assert timer_after(2).num_forwarded == 2


def test_passes_of_an_interleaved_pipeline_are_added_up_by_micro_batch():
    timer = timer_after(4)
    timer.micro_batch_of_pass = [0, 1, 0, 1]
    assert timer.micro_batch_s() == [3.0 + 7.0, 5.0 + 9.0]


@pytest.mark.parametrize(("passes", "running"), [(0, 0), (1, 1), (2, 1), (4, 2)])
def test_what_runs_is_the_latest_micro_batch_that_was_begun(passes, running):
    timer = timer_after(passes)
    timer.micro_batch_of_pass = [0, 1, 0, 1, 2, 3, 2, 3]
    assert timer.num_forwarded == running


def test_forward_and_backward_that_follow_each_other_are_one_span():
    timer = timer_of([(0, 1), (3, 4)], [(1.5, 3), (4, 6)])
    assert timer.spans(skipped=[False, False]) == [span(0, 3), span(3, 6)]


def test_a_pipeline_puts_other_micro_batches_between_and_spans_do_not_overlap():
    # One forward, one backward: F0 F1 B0 F2 B1 B2.
    timer = timer_of([(0, 1), (1, 2), (4, 5)], [(2, 4), (5, 7), (7, 9)])
    spans = timer.spans(skipped=[False] * 3)
    assert spans == [span(0, 1), span(1, 2), span(2, 4), span(4, 5), span(5, 7), span(7, 9)]


def test_skipped_micro_batches_have_no_span():
    timer = timer_of([(0, 1), (3, 3.1)], [(1, 3), (3.1, 3.2)])
    assert timer.spans(skipped=[False, True]) == [span(0, 3)]


def test_what_is_timed_is_done_before_the_clock_is_read() -> None:
    events: list[str] = []
    timer = MicroBatchTimer(lambda: events.append("waited"))
    watch = timer("forward-compute")
    watch.start()
    events.append("computed")
    watch.stop()
    assert events == ["waited", "computed", "waited"]
