"""Checkpoints of one rank: what comes back is what went in, and damage is told. Layouts: `test_ray_trainer.py`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.trainer import factories
from trainer.checkpoint import read_position, read_tensors, tensor_names
from trainer.contracts.loss_spec import SftLossSpec

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")

LR_CASES = {case["id"]: case for case in json.loads(Path("tests/cases/lr.json").read_text())["cases"]}

PHASE = factories.phase(SftLossSpec(), lr=1e-2, style="cosine", warmup=6, decay=100)


def train(rank, seed):
    samples = factories.samples(np.random.default_rng(seed), 5)
    (report,) = factories.train_alone(rank, samples, factories.schedule([[[0, 1], [2, 3, 4]]]))
    return report


def save(rank, directory: Path) -> None:
    rank.begin_save(str(directory))
    rank.finish_save()


@pytest.fixture
def saved(lone_rank, tmp_path):
    """A checkpoint after two updates, and what an unbroken run has after the third."""
    lone_rank.start_phase(PHASE)
    for seed in (1, 2):
        train(lone_rank, seed)
    save(lone_rank, tmp_path)
    return tmp_path, train(lone_rank, 3), lone_rank.weights()


def test_a_loaded_run_goes_on_bit_for_bit(lone_rank, saved):
    directory, expected, weights = saved
    lone_rank.start_phase(PHASE)
    lone_rank.load(str(directory))
    again = train(lone_rank, 3)
    assert (again.lr, again.lr_position_before, again.lr_position_after) == (
        expected.lr,
        expected.lr_position_before,
        expected.lr_position_after,
    )
    assert again.metrics == expected.metrics
    assert all(np.array_equal(weights[name], tensor) for name, tensor in lone_rank.weights().items())


def test_the_learning_rate_goes_on_at_the_position_that_was_saved(lone_rank, tmp_path):
    case = LR_CASES["scheduler-resume"]
    num_steps = case["given"]["steps"]
    size = case["given"]["saved_samples"] // num_steps
    rng = np.random.default_rng(0)
    samples = [factories.sample(rng, prompt=1, response=1) for _ in range(size * (num_steps + 2))]
    steps = [[[list(range(k * size, (k + 1) * size))]] for k in range(num_steps + 2)]
    phase = factories.phase(SftLossSpec(), lr=1e-3, style="cosine", warmup=30, decay=400)
    lone_rank.start_phase(phase)
    unbroken = factories.train_alone(lone_rank, samples, factories.schedule(*steps))
    lone_rank.start_phase(phase)
    first = samples[: size * num_steps]
    factories.train_alone(lone_rank, first, factories.schedule(*steps[:num_steps]))
    save(lone_rank, tmp_path)
    lone_rank.start_phase(phase)
    lone_rank.load(str(tmp_path))
    rest = samples[size * num_steps :]
    resumed = factories.train_alone(lone_rank, rest, factories.schedule(*steps[:2]))
    assert resumed[0].lr_position_before == case["expect"]["samples_after_resume"]
    assert [report.lr for report in resumed] == [report.lr for report in unbroken[num_steps:]]


def test_a_loaded_run_can_be_saved_again_unchanged(lone_rank, saved, tmp_path):
    directory, *_ = saved
    second = tmp_path / "second"
    second.mkdir()
    lone_rank.start_phase(PHASE)
    lone_rank.load(str(directory))
    save(lone_rank, second)
    for name in ("stage-0.safetensors", "trainer.json"):
        assert (second / name).read_bytes() == (directory / name).read_bytes()


def test_training_may_go_on_while_it_is_written(lone_rank, tmp_path):
    lone_rank.start_phase(PHASE)
    train(lone_rank, 1)
    before = lone_rank.weights()
    lone_rank.begin_save(str(tmp_path))
    train(lone_rank, 2)
    lone_rank.finish_save()
    held = read_tensors(tmp_path, "weight", tensor_names(tmp_path))
    assert before.keys() == held.keys()
    assert all(np.array_equal(before[name], held[name].numpy()) for name in before)


@pytest.mark.parametrize("file", ["stage-0.safetensors", "trainer.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damage_is_told_with_the_file(lone_rank, saved, file, damage):
    directory, *_ = saved
    path = directory / file
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:20])
    else:
        path.unlink()
    lone_rank.start_phase(PHASE)
    named = "lacks weight of" if (file, damage) == ("stage-0.safetensors", "gone") else file
    with pytest.raises(ValueError, match=named):
        lone_rank.load(str(directory))


def test_what_cannot_be_written_is_raised_when_one_waits(lone_rank, tmp_path):
    lone_rank.start_phase(PHASE)
    lone_rank.begin_save(str(tmp_path / "nowhere"))
    with pytest.raises(Exception, match="nowhere"):
        lone_rank.finish_save()


def test_a_position_of_another_format_is_refused(tmp_path):
    (tmp_path / "trainer.json").write_text('{"format": 99, "num_updates": 1, "lr_schedule": {}}')
    with pytest.raises(ValueError, match="another format"):
        read_position(tmp_path)
