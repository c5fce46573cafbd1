"""One rank's step against a plain reference: real Megatron, one process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.trainer import factories
from trainer.architecture import load_hf_config
from trainer.contracts.loss_spec import ClippedLossSpec, SftLossSpec
from trainer.contracts.lr_plan import lr_at, lr_increment
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepStatus
from trainer.rank import MegatronRank

# Megatron 0.16 warns of its own calls that leave a process group to its global state.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/loss.json").read_text())["cases"]}
LR_CASES = {case["id"]: case for case in json.loads(Path("tests/cases/lr.json").read_text())["cases"]}

# A warm-up from 0: the first step of a phase moves no weight, so that its gradient can be compared afterwards.
FROZEN = {"warmup": 1000}


@pytest.fixture
def reference(lone_rank: MegatronRank):
    return factories.reference_model(load_hf_config(factories.model_spec()), lone_rank.weights())


@pytest.mark.parametrize("loss", [SftLossSpec(), ClippedLossSpec(temperature=0.7)], ids=lambda loss: loss.type)
def test_gradient_of_any_cut_equals_the_plain_reference(lone_rank, reference, loss):
    rng = np.random.default_rng(5)
    samples = factories.samples(rng, 9)
    expected = factories.reference_step(reference, samples, loss)
    for _ in range(6):
        lone_rank.start_phase(factories.phase(loss, **FROZEN))
        cut = factories.random_step(rng, len(samples), dp=1)
        (report,) = factories.train_alone(lone_rank, samples, factories.schedule(cut))
        errors = factories.gradient_errors(lone_rank.gradients(), expected.gradients)
        assert max(errors.values()) <= 1e-5, errors
        assert report.metrics["train/loss"].value == pytest.approx(expected.loss, rel=1e-5)
        assert report.metrics["train/grad_norm"].value == pytest.approx(expected.grad_norm, rel=1e-5)
        assert report.metrics["train/entropy"].value == pytest.approx(expected.entropy, rel=1e-5)
        assert report.metrics["train/loss"].count == len(samples)
        assert report.metrics["train/entropy"].count == expected.num_loss_tokens


def test_sample_without_loss_tokens_adds_only_to_the_divisor(lone_rank, reference):
    rng = np.random.default_rng(6)
    samples = [factories.sample(rng), factories.sample(rng, prompt=6, response=0), factories.sample(rng)]
    expected = factories.reference_step(reference, samples, SftLossSpec())
    for cut in ([[0, 1, 2]], [[0], [1], [2]]):
        lone_rank.start_phase(factories.phase(SftLossSpec(), **FROZEN))
        (report,) = factories.train_alone(lone_rank, samples, factories.schedule([cut]))
        assert max(factories.gradient_errors(lone_rank.gradients(), expected.gradients).values()) <= 1e-5
        assert report.metrics["train/loss"].value == pytest.approx(expected.loss, rel=1e-5)


def test_clipping_bounds_the_gradient_that_the_optimizer_sees(lone_rank):
    samples = factories.samples(np.random.default_rng(1), 4)
    lone_rank.start_phase(factories.phase(SftLossSpec(), clip_grad=0.01, **FROZEN))
    (report,) = factories.train_alone(lone_rank, samples, factories.schedule([[[0, 1, 2, 3]]]))
    norm = np.sqrt(sum(float((gradient.astype(np.float64) ** 2).sum()) for gradient in lone_rank.gradients().values()))
    assert report.metrics["train/grad_norm"].value > 0.1
    assert norm == pytest.approx(0.01, rel=1e-3)


def test_weights_decay_but_norms_and_biases_do_not(lone_rank):
    # Without a gradient Adam moves nothing, and what is left is the decay.
    nothing = [factories.sample(np.random.default_rng(0), loss_scale=0.0)]
    phase = factories.phase(SftLossSpec(), lr=0.1)
    optimizer = phase.optimizer.model_copy(update={"weight_decay": 0.5})
    lone_rank.start_phase(phase.model_copy(update={"optimizer": optimizer}))
    before = lone_rank.weights()
    factories.train_alone(lone_rank, nothing, factories.schedule([[[0]]]), loss=SftLossSpec())
    for name, tensor in lone_rank.weights().items():
        kept = 1.0 if before[name].ndim == 1 else 1 - 0.1 * 0.5
        np.testing.assert_allclose(tensor, kept * before[name], rtol=1e-6, err_msg=name)


def test_steps_of_one_call_train_one_after_the_other(lone_rank):
    samples = factories.samples(np.random.default_rng(2), 6)
    lone_rank.start_phase(factories.phase(SftLossSpec(), lr=1e-2))
    cut = [[[0, 1], [2, 3, 4, 5]]]
    reports = factories.train_alone(
        lone_rank, [*samples, *samples], factories.schedule(cut, [[[6, 7], [8, 9, 10, 11]]])
    )
    first, second = (report.metrics["train/loss"].value for report in reports)
    assert second < first


def test_step_without_loss_tokens_is_skipped_and_has_no_values(lone_rank):
    case = CASES["whole-step-masked"]
    rng = np.random.default_rng(0)
    masked = [
        factories.sample(rng, prompt=given["tokens"], response=0, loss_scale=0.0) for given in case["given"]["samples"]
    ]
    lone_rank.start_phase(factories.phase(ClippedLossSpec(), lr=0.1))
    before = lone_rank.weights()
    (report,) = factories.train_alone(lone_rank, masked, factories.schedule([[[0], [1]]]))
    assert report.status == case["expect"]["status"]
    assert report.lr_position_after - report.lr_position_before == case["expect"]["lr_advance"]
    assert {name: metric.value for name, metric in report.metrics.items()} == dict.fromkeys(report.metrics)
    assert "train/clip_frac" in report.metrics
    _assert_same(lone_rank.weights(), before)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_non_finite_loss_moves_neither_weights_nor_learning_rate(lone_rank, poison):
    # Nothing is clipped, whatever tests before have made of the policy: its ratio to certainty is below 1.
    certain, better = np.zeros(7, dtype=np.float32), np.ones(7, dtype=np.float32)
    good = factories.sample(np.random.default_rng(0), old_log_probs=certain, advantages=better)
    bad = replace(good, advantages=np.full(good.num_tokens, poison, dtype=np.float32))
    lone_rank.start_phase(factories.phase(ClippedLossSpec(), lr=1e-3))
    before = lone_rank.weights()
    reports = factories.train_alone(lone_rank, [good, bad, good], factories.schedule([[[0], [1]]], [[[2]]]))
    assert reports[0].status is StepStatus.SKIPPED_NON_FINITE
    assert reports[0].lr_position_after == 0
    assert (reports[0].non_finite, reports[1].non_finite) == ((1,), ())
    assert not np.isfinite(reports[0].metrics["train/loss"].value)
    assert reports[1].status is StepStatus.TRAINED
    assert reports[1].lr_position_before == 0
    assert all(np.isfinite(tensor).all() for tensor in lone_rank.weights().values())
    assert any(not np.array_equal(lone_rank.weights()[name], before[name]) for name in before)


def test_each_step_uses_the_learning_rate_at_the_position_before_it(lone_rank):
    case = LR_CASES["warmup-by-samples"]
    given, expect = case["given"], case["expect"]
    sizes = given["global_batch_sizes"]
    rng = np.random.default_rng(0)
    samples = [factories.sample(rng, prompt=1, response=1) for _ in range(sum(sizes))]
    starts = np.cumsum([0, *sizes])
    steps = [[[list(range(starts[k], starts[k + 1]))]] for k in range(len(sizes))]
    lone_rank.start_phase(factories.phase(SftLossSpec(), lr=given["to"], warmup=given["warmup"]))
    reports = factories.train_alone(lone_rank, samples, factories.schedule(*steps))
    assert [report.lr for report in reports] == pytest.approx(expect["lr_used"])
    assert [report.lr_position_before for report in reports] == list(starts[:-1])
    assert reports[-1].lr_position_after == sum(sizes)


@pytest.mark.parametrize("unit", list(LrUnit))
def test_learning_rate_is_the_planned_one_and_a_skipped_step_does_not_move_it(lone_rank, unit):
    rng = np.random.default_rng(8)
    samples = factories.samples(rng, 7)
    samples[3] = factories.sample(rng, prompt=9, response=0, loss_scale=0.0)
    phase = factories.phase(SftLossSpec(), lr=3e-4, style="cosine", warmup=2, decay=90, min_lr_frac=0.1, unit=unit)
    lone_rank.start_phase(phase)
    parts = [[0, 1], [2], [3], [4, 5, 6]]
    reports = factories.train_alone(lone_rank, samples, factories.schedule(*[[[part]] for part in parts]))
    position = 0
    for part, report in zip(parts, reports, strict=True):
        assert report.lr_position_before == position
        assert report.lr == lr_at(phase.optimizer, position)
        if part != [3]:
            num_tokens = sum(samples[i].num_tokens for i in part)
            position += lr_increment(unit, step_global_batch_size=len(part), step_num_tokens=num_tokens)
        assert report.lr_position_after == position
    assert reports[2].status is StepStatus.SKIPPED_NO_SIGNAL


def test_share_of_a_lone_rank_is_the_whole_gradient_and_is_told_only_where_it_is_measured(lone_rank):
    samples = factories.samples(np.random.default_rng(9), 5)
    plan = factories.schedule([[[0, 1], [], [2, 3, 4]]])
    found = []
    for measure_noise in (False, True, False):
        lone_rank.start_phase(factories.phase(SftLossSpec(), clip_grad=0.01, measure_noise=measure_noise, **FROZEN))
        (report,) = factories.train_alone(lone_rank, samples, plan)
        found.append(report.share_sq_norm)
    assert found == [None, pytest.approx(report.metrics["train/grad_norm"].value ** 2, rel=1e-5), None]


def test_micro_batches_are_timed_and_skipped_dummies_cost_nothing(lone_rank):
    samples = factories.samples(np.random.default_rng(3), 3)
    lone_rank.start_phase(factories.phase(SftLossSpec()))
    (report,) = factories.train_alone(lone_rank, samples, factories.schedule([[[0, 1], [], [2]]]))
    assert report.micro_batch_s[0] > 0
    assert report.micro_batch_s[1] == 0
    assert report.micro_batch_s[2] > 0
    assert sum(report.micro_batch_s) <= report.train_s


def test_a_lone_rank_computes_a_position_for_each_token_and_none_for_a_skipped_dummy(lone_rank):
    samples = factories.samples(np.random.default_rng(3), 3)
    lone_rank.start_phase(factories.phase(SftLossSpec()))
    (report,) = factories.train_alone(lone_rank, samples, factories.schedule([[[0, 1], [], [2]]]))
    assert report.num_positions == (samples[0].num_tokens + samples[1].num_tokens, 0, samples[2].num_tokens)


def test_train_before_start_phase_is_refused():
    rank = MegatronRank(factories.trainer_spec(), rank=0, device_type="cpu", num_threads=1, collective_timeout_s=5)
    with pytest.raises(ValueError, match="start_phase"):
        factories.train_alone(rank, factories.samples(np.random.default_rng(0), 1), factories.schedule([[[0]]]))


def _assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])
