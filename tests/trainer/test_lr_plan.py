from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trainer.contracts.lr_plan import lr_at, lr_increment
from trainer.contracts.optimizer_spec import LrScheduleSpec, LrUnit, OptimizerSpec
from trainer.optimization import LrSchedule

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/lr.json").read_text())["cases"]}


@st.composite
def optimizer_specs(draw) -> OptimizerSpec:
    style = draw(st.sampled_from(["constant", "linear", "cosine"]))
    warmup = draw(st.integers(0, 5000))
    decay = None if style == "constant" else draw(st.integers(warmup + 1, warmup + 100_000))
    return OptimizerSpec(
        lr=draw(st.floats(1e-8, 10.0)),
        lr_schedule=LrScheduleSpec(
            style=style, warmup=warmup, decay=decay, min_lr_frac=draw(st.sampled_from([0.0, 0.1, 1 / 3, 1.0]))
        ),
    )


def megatron_lr(spec: OptimizerSpec, position: int) -> float:
    schedule = LrSchedule(spec, torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))]))
    schedule.advance(step_global_batch_size=position, step_num_tokens=0)
    return schedule.lr


@given(spec=optimizer_specs(), positions=st.lists(st.integers(0, 120_000), min_size=1, max_size=20))
def test_planned_learning_rate_is_megatrons_bit_for_bit(spec, positions):
    schedule = spec.lr_schedule
    corners = [0, 1, schedule.warmup, schedule.warmup + 1, schedule.decay or 7, (schedule.decay or 7) + 1]
    for position in [*positions, *corners]:
        assert lr_at(spec, position) == megatron_lr(spec, position)


def test_plan_of_a_warm_up_by_samples():
    case = CASES["warmup-by-samples"]
    given, expect = case["given"], case["expect"]
    spec = OptimizerSpec(lr=given["to"], lr_schedule=LrScheduleSpec(warmup=given["warmup"]))
    position, used = 0, []
    for size in given["global_batch_sizes"]:
        used.append(lr_at(spec, position))
        position += lr_increment(LrUnit.SAMPLES, step_global_batch_size=size, step_num_tokens=7 * size)
    assert used == pytest.approx(expect["lr_used"])
    assert lr_at(spec, position) == expect["after"]


@pytest.mark.parametrize(("unit", "increment"), [(LrUnit.SAMPLES, 24), (LrUnit.TOKENS, 4100), (LrUnit.STEPS, 1)])
def test_position_moves_by_what_its_unit_counts(unit, increment):
    assert lr_increment(unit, step_global_batch_size=24, step_num_tokens=4100) == increment


@pytest.mark.parametrize(
    "wrong",
    [{"lr": 1e308}, {"lr": 1, "weight_decay": 1e308}, {"lr": 1, "clip_grad": 1e308}, {"lr": 1, "eps": 1e308}]
    + [{"lr": 1, "lr_schedule": {"style": "linear", "decay": 1, name: 2**53}} for name in ("warmup", "decay")],
)
def test_numbers_that_would_overflow_are_no_optimizer(wrong):
    with pytest.raises(ValidationError):
        OptimizerSpec.model_validate(wrong)


@given(st.floats(0, 1e3, exclude_min=True), st.integers(0, 2**53 - 2), st.integers(0, 2**63))
def test_any_learning_rate_is_finite_at_any_position(lr, warmup, position):
    schedule = LrScheduleSpec(style="cosine", warmup=warmup, decay=2**53 - 1)
    assert 0 <= lr_at(OptimizerSpec(lr=lr, lr_schedule=schedule), position) <= 1.001 * lr
