from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.contracts.messages import Phase
from orchestrator.costs.calibration import CostCalibration
from orchestrator.costs.cost_model import CostModel
from orchestrator.step_message import TrainedStep
from orchestrator.step_runner import PhaseGoal, StepRunner
from orchestrator.train_items import TrainItem
from tests.orchestrator.factories import sample_shapes, step_geometry
from tests.orchestrator.fakes import FakeEngine, FakeReporter, FakeTrainer
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import ClippedLossSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.policy_trainer import StepRecord
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.contracts.trainer_spec import PhaseSpec

SHAPE = CostModel(linear=1.0, quadratic=0.0)
"""What the model's shape says; the trainer below works otherwise."""


class QuadraticTrainer(FakeTrainer):
    """Takes a microsecond for each pair of tokens of a sample, and nothing else."""

    def train(self, *, samples: Sequence[TrainSample], schedule: DpSchedule) -> list[StepRecord]:
        [record] = super().train(samples=samples, schedule=schedule)
        seconds = tuple(
            tuple(sum(1e-6 * samples[i].num_tokens ** 2 for i in micro_batch) for micro_batch in rank)
            for rank in schedule.step(0).micro_batches
        )
        return [replace(record, micro_batch_s=seconds)]


def item(length: int, index: int) -> TrainItem:
    [shape] = sample_shapes([length])
    shape = replace(shape, sample_id=f"s{index}", rollout_id=f"r{index}", num_loss_tokens=length - 1)
    return TrainItem(
        shape=shape,
        token_ids=np.zeros(length, dtype=np.int64),
        num_prompt_tokens=1,
        log_probs=np.zeros(length - 1, dtype=np.float32),
        advantage=1.0,
        policy_version=0,
    )


def train_steps(calibration: CostCalibration | None, *, num_steps: int = 20) -> list[TrainedStep]:
    runner = StepRunner(
        trainer=QuadraticTrainer(),
        engine=FakeEngine(iter([])),
        reporter=FakeReporter(),
        geometry=step_geometry(dp_size=2, token_cap=64),
        cost_model=SHAPE,
        calibration=calibration,
    )
    runner.begin(
        PhaseGoal(
            phase=Phase.RL,
            spec=PhaseSpec(optimizer=OptimizerSpec(lr=1e-3), loss=ClippedLossSpec()),
            loss_aggregation=LossAggregation.TOKEN_MEAN,
            constant_tokens=1,
        )
    )
    lengths = np.random.default_rng(0).integers(2, 64, size=(num_steps, 16)).tolist()
    return [runner.train([item(length, i) for i, length in enumerate(step)], iteration=0) for step in lengths]


def is_quadratic(trained: TrainedStep) -> bool:
    lengths = [item.shape.num_tokens for item in trained.items]
    per_pair = [cost / length**2 for cost, length in zip(trained.figures.sample_cost, lengths, strict=True)]
    return max(per_pair) == pytest.approx(min(per_pair), rel=1e-3)


def test_measured_costs_replace_those_of_the_shape_once_there_are_enough() -> None:
    first, *_, last = train_steps(CostCalibration())
    assert not is_quadratic(first)
    assert is_quadratic(last)
    # What is predicted to be even is even when it is measured.
    busy = [sum(seconds) for seconds in last.record.micro_batch_s]
    assert 1 - min(busy) / max(busy) == pytest.approx(
        1 - min(map(sum, last.figures.predicted_cost)) / max(map(sum, last.figures.predicted_cost)), abs=1e-3
    )


def test_without_a_calibration_the_schedule_depends_on_the_samples_alone() -> None:
    *_, last = train_steps(None)
    assert last.figures.sample_cost == tuple(float(item.shape.num_tokens) for item in last.items)


def test_a_phase_has_to_begin_before_a_step() -> None:
    runner = StepRunner(
        trainer=FakeTrainer(),
        engine=FakeEngine(iter([])),
        reporter=FakeReporter(),
        geometry=step_geometry(dp_size=2, token_cap=64),
        cost_model=SHAPE,
    )
    with pytest.raises(RuntimeError, match="before begin"):
        runner.train([item(3, 0)], iteration=0)
