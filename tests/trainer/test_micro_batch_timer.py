from __future__ import annotations

import pytest

from trainer.micro_batch_timer import MicroBatchTimer


def timer_after(passes: int) -> MicroBatchTimer:
    timer = MicroBatchTimer()
    for name, seconds in (("forward-compute", 1.0), ("backward-compute", 2.0)):
        timer(name).seconds = [seconds + i for i in range(passes)]
    return timer


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
