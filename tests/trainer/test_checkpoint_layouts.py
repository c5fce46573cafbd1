"""A checkpoint of one layout goes on under another: real ranks, in Ray actors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer import factories
from trainer.contracts.loss_spec import SftLossSpec
from trainer.contracts.policy_trainer import StepRecord, TrainerError, Weights
from trainer.ray_trainer import RayPolicyTrainer

pytestmark = pytest.mark.stack

PHASE = factories.phase(SftLossSpec(), lr=1e-3, style="linear", warmup=4, decay=200)
NUM_SAMPLES = 8
STEPS = {
    1: [[[4, 0, 2], [1, 7], [6, 3, 5]]],
    2: [[[4, 0, 2], [1], [6]], [[3, 5], [7], []]],
    4: [[[4, 0], [2]], [[1], [6]], [[3], []], [[5], [7]]],
}
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"dp": 4, "distributed_optimizer": True},
    {"dp": 2},
    {"tp": 2, "cp": 2, "sequence_parallel": True},
    {"pp": 2},
)
"""The first is the one that writes."""


@contextmanager
def started(**parallelism: Any) -> Iterator[RayPolicyTrainer]:
    trainer = RayPolicyTrainer(factories.trainer_spec(**parallelism), collective_timeout_s=30)
    try:
        trainer.start_phase(PHASE)
        yield trainer
    finally:
        trainer.close()


def train(trainer: RayPolicyTrainer, seed: int, dp: int) -> StepRecord:
    samples = factories.samples(np.random.default_rng(seed), NUM_SAMPLES)
    (record,) = trainer.train(samples=samples, schedule=factories.schedule(STEPS[dp]))
    return record


def relative_difference(found: Weights, expected: Weights) -> float:
    assert found.keys() == expected.keys()
    apart = sum(float(((found[name] - expected[name]).astype(np.float64) ** 2).sum()) for name in expected)
    size = sum(float((expected[name].astype(np.float64) ** 2).sum()) for name in expected)
    return (apart / size) ** 0.5


def test_a_checkpoint_goes_on_under_every_layout(local_ray: object, tmp_path: Path) -> None:
    with started(**LAYOUTS[0]) as trainer:
        for seed in (1, 2):
            train(trainer, seed, 4)
        trainer.begin_save(str(tmp_path))
        trainer.finish_save()
        expected_record, expected = train(trainer, 3, 4), trainer.weights()
    for parallelism in LAYOUTS:
        with started(**parallelism) as trainer:
            trainer.load(str(tmp_path))
            record = train(trainer, 3, parallelism.get("dp", 1))
            difference = relative_difference(trainer.weights(), expected)
        assert (record.lr, record.lr_position_after) == (expected_record.lr, expected_record.lr_position_after)
        assert record.metrics["train/loss"].value == pytest.approx(
            expected_record.metrics["train/loss"].value, rel=1e-5
        )
        assert difference == 0 if parallelism == LAYOUTS[0] else difference <= 1e-5, parallelism


def test_a_checkpoint_that_cannot_be_written_or_read_is_told(local_ray: object, tmp_path: Path) -> None:
    with started(dp=2) as trainer:
        trainer.begin_save(str(tmp_path / "nowhere"))
        with pytest.raises(TrainerError, match="nowhere"):
            trainer.finish_save()
    with started(dp=2) as trainer, pytest.raises(TrainerError, match=r"trainer\.json cannot be read"):
        trainer.load(str(tmp_path))
