from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.contracts.optimizer_spec import LrScheduleSpec, OptimizerSpec
from trainer.optimization import LrSchedule

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/lr.json").read_text())["cases"]}


def lr_schedule(*, lr: float = 1.0, **schedule) -> LrSchedule:
    """Megatron's scheduler over a real optimizer; it touches nothing but the optimizer's param_groups."""
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
    return LrSchedule(OptimizerSpec(lr=lr, lr_schedule=LrScheduleSpec(**schedule)), optimizer)


def run(schedule: LrSchedule, sizes: list[int]) -> list[float]:
    used = []
    for size in sizes:
        used.append(schedule.lr)
        schedule.advance(step_global_batch_size=size, step_num_tokens=10 * size)
    return used


def test_warm_up_counts_samples():
    case = CASES["warmup-by-samples"]
    given, expect = case["given"], case["expect"]
    schedule = lr_schedule(lr=given["to"], warmup=given["warmup"])
    assert run(schedule, given["global_batch_sizes"]) == pytest.approx(expect["lr_used"])
    assert schedule.lr == expect["after"]


def test_resumed_schedule_goes_on_where_it_was_saved():
    case = CASES["scheduler-resume"]
    options = {"style": "cosine", "warmup": 24, "decay": 1000}
    unbroken = lr_schedule(**options)
    run(unbroken, [case["given"]["saved_samples"] // case["given"]["steps"]] * case["given"]["steps"])
    resumed = lr_schedule(**options)
    resumed.load_state_dict(unbroken.state_dict())
    assert resumed.position == case["expect"]["samples_after_resume"]
    assert run(resumed, [7, 30, 11]) == run(unbroken, [7, 30, 11])


def test_unit_of_steps_ignores_their_size():
    schedule = lr_schedule(warmup=4, unit="steps")
    assert run(schedule, [500, 1, 80, 3]) == pytest.approx([0, 0.25, 0.5, 0.75])
    assert schedule.position == 4


def test_unit_of_tokens_counts_tokens_and_not_samples():
    schedule = lr_schedule(warmup=1000, unit="tokens")
    used = []
    for size, num_tokens in [(1, 240), (300, 80), (2, 160)]:
        used.append(schedule.lr)
        schedule.advance(step_global_batch_size=size, step_num_tokens=num_tokens)
    assert used == pytest.approx([0, 0.24, 0.32])
    assert schedule.position == 480


@pytest.mark.parametrize("unit", ["samples", "tokens", "steps"])
def test_position_is_resumed_once_whatever_it_counts(unit):
    options = {"style": "linear", "warmup": 3, "decay": 5000, "unit": unit}
    unbroken, resumed = lr_schedule(**options), lr_schedule(**options)
    run(unbroken, [9, 1, 40])
    resumed.load_state_dict(unbroken.state_dict())
    assert resumed.position == unbroken.position
    assert run(resumed, [5, 2]) == run(unbroken, [5, 2])


def test_position_cannot_be_resumed_in_a_schedule_that_has_moved():
    schedule = lr_schedule(warmup=10)
    state = schedule.state_dict()
    run(schedule, [4])
    with pytest.raises(AssertionError, match="saved position"):
        schedule.load_state_dict(state)


@pytest.mark.parametrize("style", ["linear", "cosine"])
def test_decay_ends_at_its_floor_and_stays_there(style):
    schedule = lr_schedule(lr=2.0, style=style, warmup=10, decay=110, min_lr_frac=0.1)
    run(schedule, [10])
    assert schedule.lr == pytest.approx(2.0)
    run(schedule, [50])
    assert schedule.lr == pytest.approx(1.1)
    run(schedule, [50, 1000])
    assert schedule.lr == pytest.approx(0.2)


@given(sizes=st.lists(st.integers(1, 600), min_size=1, max_size=30))
def test_learning_rate_depends_on_the_position_and_not_on_the_way_there(sizes):
    options = {"style": "cosine", "warmup": 100, "decay": 5000}
    walked, jumped = lr_schedule(**options), lr_schedule(**options)
    run(walked, sizes)
    jumped.advance(step_global_batch_size=sum(sizes), step_num_tokens=0)
    assert walked.position == sum(sizes)
    assert walked.lr == jumped.lr
    assert math.isfinite(walked.lr)
    assert 0 <= walked.lr <= 1
