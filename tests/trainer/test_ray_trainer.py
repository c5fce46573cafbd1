"""The real stack: Ray actors, Megatron's DDP and pipeline, against a plain one-process reference."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import ray

from tests.trainer import factories
from tests.trainer.reference_metrics import check_metrics, reference_metrics
from trainer.contracts.actor_environment import actor_environment
from trainer.contracts.loss_spec import ClippedLossSpec, SftLossSpec
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepRecord, StepStatus, TrainerError
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import dp_schedule_problems
from trainer.ray_trainer import RayPolicyTrainer
from trainer.shard import make_shards

pytestmark = pytest.mark.stack

logger = logging.getLogger(__name__)

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/loss.json").read_text())["cases"]}

RANK_RAISES = next(
    case for case in json.loads(Path("tests/cases/operations.json").read_text())["cases"] if case["id"] == "rank-raises"
)

# A warm-up from 0: the first step of a phase moves no weight, so that its gradient can be compared afterwards.
FROZEN = {"warmup": 1000}

NUM_SAMPLES = 7

# step[dp_rank][k] = samples. With dp = 2 the ranks hold 5 and 2 samples, and the second has a dummy.
ALONE = [[[4, 0, 2], [1], [6, 3, 5]]]
UNEVEN = [[[4, 0, 2], [1], [6]], [[3, 5], [], []]]
# `test_invariance.py` goes through many more, without Ray.
LAYOUTS = {
    "dp=1": ({}, ALONE),
    "pp=2": ({"pp": 2}, [[[4, 0, 2], [], [1], [6, 3, 5]]]),
    "dp=2, tp=2": ({"dp": 2, "tp": 2}, UNEVEN),
    "dp=2, cp=2": ({"dp": 2, "cp": 2}, UNEVEN),
}


@contextmanager
def started(*, collective_timeout_s: float = 30, **parallelism: int) -> Iterator[RayPolicyTrainer]:
    trainer = RayPolicyTrainer(factories.trainer_spec(**parallelism), collective_timeout_s=collective_timeout_s)
    try:
        yield trainer
    finally:
        trainer.close()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_step_under_any_layout_equals_the_plain_reference(local_ray, layout):
    parallelism, step = LAYOUTS[layout]
    rng = np.random.default_rng(11)
    samples = factories.samples(rng, NUM_SAMPLES)
    plan = factories.schedule(step)
    assert not dp_schedule_problems(plan, lengths=[one.num_tokens for one in samples], token_cap=None)
    with started(**parallelism) as trainer:
        model = factories.reference_model(trainer.hf_config(), trainer.weights())
        for loss in (SftLossSpec(), ClippedLossSpec(temperature=0.8)):
            expected = factories.reference_step(model, samples, loss)
            trainer.start_phase(factories.phase(loss, **FROZEN))
            (record,) = trainer.train(samples=samples, schedule=plan)
            errors = factories.gradient_errors(trainer.gradients(), expected.gradients)
            worst = max(errors, key=errors.__getitem__)
            logger.info("%s, %s: whole %.1e, worst %.1e %s", layout, loss.type, errors[""], errors[worst], worst)
            assert max(errors.values()) <= 1e-5, errors
            assert record.status is StepStatus.TRAINED
            assert (record.lr_position_before, record.lr_position_after) == (0, NUM_SAMPLES)
            assert record.global_batch_size == NUM_SAMPLES
            check_metrics(record.metrics, reference_metrics(model, samples, loss, lr=0.0))
            assert [len(seconds) for seconds in record.micro_batch_s] == [len(rank) for rank in step]
            _check_positions(record, samples, step)
            assert record.noise is None
        _check_shares(trainer, model, samples, step)


def _check_positions(record: StepRecord, samples: Sequence[TrainSample], step: list) -> None:
    """Each micro-batch has a position for each of its tokens; what is left over is what the step's padding counts."""
    padding, padded = record.metrics["perf/padding_frac"], 0
    for rank, positions in zip(step, record.num_positions, strict=True):
        for micro_batch, num_positions in zip(rank, positions, strict=True):
            num_tokens = sum(samples[i].num_tokens for i in micro_batch)
            assert num_positions >= num_tokens
            padded += num_positions - num_tokens
    assert sum(map(sum, record.num_positions)) == padding.count
    assert padded == padding.total


def _check_shares(trainer: RayPolicyTrainer, model: object, samples: Sequence[TrainSample], step: list) -> None:
    """Measured in the last phase again: each rank's own gradient, the whole one before clipping, and no bit moved."""
    loss, unmeasured = ClippedLossSpec(temperature=0.8), trainer.gradients()
    shares = []
    for rank in step:
        mine = [samples[i] for micro_batch in rank for i in micro_batch]
        shares.append(factories.reference_step(model, mine, loss).grad_norm * len(mine) / len(samples))
    whole = factories.reference_step(model, samples, loss).grad_norm
    trainer.start_phase(factories.phase(loss, measure_noise=True, **FROZEN))
    (record,) = trainer.train(samples=samples, schedule=factories.schedule(step))
    assert record.noise is not None
    assert record.noise.rank_sq_norms == pytest.approx([share**2 for share in shares], rel=1e-5)
    assert record.noise.sq_norm == pytest.approx(whole**2, rel=1e-5)
    for name, gradient in trainer.gradients().items():
        np.testing.assert_array_equal(gradient, unmeasured[name])


def test_random_uneven_cuts_and_skips_of_two_ranks(local_ray):
    rng = np.random.default_rng(23)
    with started(dp=2) as trainer:
        model = factories.reference_model(trainer.hf_config(), trainer.weights())
        for _ in range(10):
            samples = factories.samples(rng, int(rng.integers(1, 12)))
            loss = ClippedLossSpec()
            expected = factories.reference_step(model, samples, loss)
            trainer.start_phase(factories.phase(loss, **FROZEN))
            cut = factories.random_step(rng, len(samples), dp=2)
            (record,) = trainer.train(samples=samples, schedule=factories.schedule(cut))
            errors = factories.gradient_errors(trainer.gradients(), expected.gradients)
            assert max(errors.values()) <= 1e-5, (cut, errors)
            check_metrics(record.metrics, reference_metrics(model, samples, loss, lr=0.0))
        _check_constant_loss_cases(trainer, model)
        _check_agreement_on_skips(trainer)
        _check_refusals(trainer)


def _check_constant_loss_cases(trainer: RayPolicyTrainer, model: object) -> None:
    """The clipped loss of an unchanged policy is −A per token: any constant loss can be asked for."""
    for case_id, weigh in (("token-mean-uneven-dp", _token_mean), ("megatron-scaling-variable-batch", _per_sample)):
        case = CASES[case_id]
        parts, num_micro_batches = weigh(case["given"])
        rng = np.random.default_rng(0)
        samples, step = [], [[] for _ in range(2)]
        for dp_rank, micro_batches in enumerate(parts):
            for part in micro_batches:
                step[dp_rank].append([] if part is None else [len(samples)])
                if part is not None:
                    samples.append(_constant_loss(rng, model, *part))
        trainer.start_phase(factories.phase(ClippedLossSpec(), **FROZEN))
        (record,) = trainer.train(samples=samples, schedule=factories.schedule(step))
        assert record.metrics["train/loss"].value == pytest.approx(case["expect"], rel=1e-5), case_id
        assert len(record.micro_batch_s[0]) == num_micro_batches


def _token_mean(given: dict) -> tuple[list, int]:
    """(tokens, loss per token, loss_scale) by rank and micro-batch; w_i = 1 / tokens of the step."""
    step_tokens = sum(tokens for tokens, _ in given["rank_sums"])
    num_samples = len(given["rank_sums"])
    return [[(n, total / n, num_samples / step_tokens)] for n, total in given["rank_sums"]], 1


def _per_sample(given: dict) -> tuple[list, int]:
    """One sample of weight 1/step_global_batch_size for each contribution; 0 is the dummy."""
    return [
        [(4, total, 0.25) if total else None for total in contributions] for contributions in given["contributions"]
    ], 2


def _constant_loss(rng: np.random.Generator, model: object, tokens: int, loss: float, loss_scale: float):
    one = factories.sample(rng, prompt=2, response=tokens, loss_scale=loss_scale)
    advantages = np.where(one.loss_mask, -loss, 0.0).astype(np.float32)
    return replace(one, advantages=advantages, old_log_probs=factories.reference_log_probs(model, one))


def _check_agreement_on_skips(trainer: RayPolicyTrainer) -> None:
    rng = np.random.default_rng(0)
    good, masked = factories.sample(rng), factories.sample(rng, prompt=6, response=0)
    bad = replace(good, advantages=np.full(good.num_tokens, np.nan, dtype=np.float32))
    plan = factories.schedule([[[0]], [[1]]], [[[2]], [[3]]], [[[4]], [[5]]])
    for unit, moved in ((LrUnit.SAMPLES, 2), (LrUnit.TOKENS, good.num_tokens + masked.num_tokens), (LrUnit.STEPS, 1)):
        trainer.start_phase(factories.phase(ClippedLossSpec(), measure_noise=True, unit=unit))
        records = trainer.train(samples=[good, bad, masked, masked, good, masked], schedule=plan)
        assert [record.status for record in records] == [
            StepStatus.SKIPPED_NON_FINITE,
            StepStatus.SKIPPED_NO_SIGNAL,
            StepStatus.TRAINED,
        ]
        assert [record.lr_position_after for record in records] == [0, 0, moved]
        assert all(metric.value is None for metric in records[1].metrics.values())
        assert [record.noise is None for record in records] == [True, True, False]
        assert records[2].noise.rank_sq_norms == (pytest.approx(records[2].noise.sq_norm, rel=1e-5), 0.0)


def _check_refusals(trainer: RayPolicyTrainer) -> None:
    rng = np.random.default_rng(0)
    one = factories.sample(rng, advantages=None)
    with pytest.raises(ValueError, match="needs advantages"):
        trainer.train(samples=[one], schedule=factories.schedule([[[0]], [[]]]))
    outside = factories.sample(rng, token_ids=np.full(7, factories.VOCAB_SIZE))
    with pytest.raises(ValueError, match="token ids"):
        trainer.train(samples=[outside], schedule=factories.schedule([[[0]], [[]]]))
    with pytest.raises(ValueError, match="dp=1"):
        trainer.train(samples=[one], schedule=factories.schedule([[[0]]]))


def test_weights_and_learning_rates_do_not_depend_on_the_layout(local_ray):
    """After three steps of different sizes; layouts differ by rounding only."""
    samples = factories.samples(np.random.default_rng(4), 9)
    alone = [[[[0, 1], [2, 3]]], [[[4]]], [[[5, 6, 7, 8]]]]
    uneven = [[[[0, 1, 2]], [[3]]], [[[4]], [[]]], [[[5]], [[6, 7, 8]]]]
    phase = factories.phase(SftLossSpec(), lr=1e-2, clip_grad=1.0, warmup=8)
    # A large eps: Adam divides by the gradient's size, which would blow rounding up where it is near zero.
    phase = phase.model_copy(update={"optimizer": phase.optimizer.model_copy(update={"eps": 1e-3})})
    results = []
    for parallelism, steps in (({}, alone), ({"dp": 2}, uneven), ({"tp": 2}, alone), ({"pp": 2}, alone)):
        with started(**parallelism) as trainer:
            before = trainer.weights()
            trainer.start_phase(phase)
            records = trainer.train(samples=samples, schedule=factories.schedule(*steps))
            assert [record.lr for record in records] == pytest.approx([0, 1e-2 * 4 / 8, 1e-2 * 5 / 8])
            assert [record.lr_position_after for record in records] == [4, 5, 9]
            results.append((before, trainer.weights()))
    (initial, trained), *others = results
    assert factories.gradient_errors(trained, initial)[""] > 1e-3
    for other_initial, other_trained in others:
        assert factories.gradient_errors(other_initial, initial)[""] == 0
        assert factories.gradient_errors(other_trained, trained)[""] <= 1e-5


def test_raising_rank_becomes_an_error_with_its_traceback_and_leaves_no_process(local_ray):
    dp = RANK_RAISES["given"]["dp"]
    first = [[[dp_rank]] for dp_rank in range(dp)]
    second = [[[], []] for _ in range(dp - 1)] + [[[], [dp]]]
    shards = make_shards(
        factories.samples(np.random.default_rng(0), dp + 1),
        factories.schedule(first, second),
        loss=SftLossSpec(),
        vocab_size=factories.VOCAB_SIZE,
    )
    # Behind the driver's back, which would refuse a token that is not in the vocabulary.
    shards[-1].samples.token_ids[-1] = factories.VOCAB_SIZE + 99
    collective_timeout_s = 300
    with started(dp=dp, collective_timeout_s=collective_timeout_s) as trainer:
        pids = ranks_of(trainer)
        trainer.start_phase(factories.phase(SftLossSpec()))
        started_at = time.monotonic()
        with pytest.raises(TrainerError) as caught:
            trainer._call({rank: ("train", shard) for rank, shard in enumerate(shards)})
        # The peers wait in a collective; nobody waits for them.
        assert time.monotonic() - started_at < collective_timeout_s
        with pytest.raises(TrainerError, match="closed"):
            trainer.weights()
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"rank {dp - 1}, step 1 of this iteration, micro-batch 1: IndexError")
    assert "embedding" in str(caught.value)
    assert_gone(pids)
    # The next test starts the next run in the same Ray.


def test_dying_rank_becomes_an_error_and_leaves_no_process(local_ray):
    with started(dp=2) as trainer:
        pids = ranks_of(trainer)
        for actor in trainer._actors:
            variables = ray.get(actor.__ray_call__.remote(lambda _: dict(os.environ)))
            assert variables.items() >= actor_environment(1).items()
        trainer.start_phase(factories.phase(SftLossSpec()))
        os.kill(pids[1], 9)
        with pytest.raises(TrainerError, match="rank 1: the process ended"):
            trainer.train(
                samples=factories.samples(np.random.default_rng(0), 2), schedule=factories.schedule([[[0]], [[1]]])
            )
        trainer.close()
    assert_gone(pids)


def test_hanging_rank_becomes_an_error_and_leaves_no_process(local_ray):
    with started(dp=2, collective_timeout_s=5) as trainer:
        pids = ranks_of(trainer)
        trainer.start_phase(factories.phase(SftLossSpec()))
        os.kill(pids[1], signal.SIGSTOP)
        started_at = time.monotonic()
        with pytest.raises(TrainerError, match="rank 0"):
            trainer.train(
                samples=factories.samples(np.random.default_rng(0), 2), schedule=factories.schedule([[[0]], [[1]]])
            )
        assert time.monotonic() - started_at < 40
    assert_gone(pids)


DRIVER = """
import os, sys, ray
from tests.trainer import factories
from trainer.ray_trainer import RayPolicyTrainer

ray.init(address=sys.argv[1], namespace="tests-trainer-driver", log_to_driver=False)
trainer = RayPolicyTrainer(factories.trainer_spec(dp=2))
print(*[ray.get(actor.pid.remote()) for actor in trainer._actors], flush=True)
os._exit(1)
"""


def test_ranks_end_with_their_driver(local_ray):
    address = ray.get_runtime_context().gcs_address
    driver = subprocess.run([sys.executable, "-c", DRIVER, address], stdout=subprocess.PIPE, text=True, check=False)
    assert driver.returncode == 1
    pids = [int(pid) for pid in driver.stdout.split()[-2:]]
    assert_gone(pids)


def ranks_of(trainer: RayPolicyTrainer) -> list[int]:
    return [ray.get(actor.pid.remote()) for actor in trainer._actors]


def assert_gone(pids: list[int]) -> None:
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "still not"
        time.sleep(0.05)
