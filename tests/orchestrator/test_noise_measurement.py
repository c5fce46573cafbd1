"""The recorded noise scale of a real model against the covariance of its samples' gradients, each taken by itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from orchestrator.batching.noise_scale import SmoothedNoise, estimate_noise
from tests.trainer import factories
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.loss_spec import SftLossSpec
from trainer.contracts.policy_trainer import StepStatus
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.ray_trainer import RayPolicyTrainer

pytestmark = pytest.mark.stack

logger = logging.getLogger(__name__)

LOSS = SftLossSpec()
# So few different tokens that the samples largely agree: the noise scale comes to about 10 samples, near the size of a
# step. One step then knows tr(Σ) and |μ|² to about 30 % each, and a hundred steps know their ratio to about 4 %. With
# tokens from the whole vocabulary |μ|² would be a tenth of the noise of a step, and a hundred times as many be needed.
NUM_TOKENS_USED = 8
NUM_STEPS = 100


def sample_pool(rng: np.random.Generator, size: int) -> list[TrainSample]:
    pool = []
    for _ in range(size):
        prompt, response = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        token_ids = rng.integers(0, NUM_TOKENS_USED, prompt + response)
        pool.append(factories.sample(rng, prompt=prompt, response=response, token_ids=token_ids))
    return pool


def direct_moments(model: object, pool: Sequence[TrainSample]) -> tuple[float, float]:
    """tr(Σ) and |μ|² of the gradients of the samples' own means, by autograd, one sample at a time."""
    rows = []
    for one in pool:
        found = factories.reference_step(model, [replace(one, loss_scale=1 / one.num_loss_tokens)], LOSS).gradients
        rows.append(np.concatenate([found[name].ravel() for name in sorted(found)]).astype(np.float64))
    gradients = np.stack(rows)
    mean = gradients.mean(axis=0)
    return float(((gradients - mean) ** 2).sum(axis=1).mean()), float(mean @ mean)


def drawn_step(rng: np.random.Generator, pool: Sequence[TrainSample]) -> tuple[list[TrainSample], list, Certificate]:
    """10 to 16 independent draws, unequal shares, an uneven cut: the second rank has fewer samples and a dummy."""
    size = int(rng.integers(10, 17))
    numerators = rng.integers(1, 4, size)
    shares = [Fraction(int(numerator), int(numerators.sum())) for numerator in numerators]
    drawn = [pool[i] for i in rng.integers(0, len(pool), size)]
    samples = [
        replace(one, loss_scale=size * float(share) / one.num_loss_tokens)
        for one, share in zip(drawn, shares, strict=True)
    ]
    first, second = size // 3, 2 * size // 3
    cut = [[list(range(first)), list(range(first, second))], [list(range(second, size)), []]]
    certificate = Certificate(
        loss_aggregation=LossAggregation.TOKEN_MEAN,
        sample_ids=tuple(str(i) for i in range(size)),
        weights=tuple(shares),
    )
    return samples, cut, certificate


def drawn_iteration(rng: np.random.Generator, pool: Sequence[TrainSample]) -> tuple[list[TrainSample], DpSchedule]:
    samples, steps, certificates = [], [], []
    for _ in range(NUM_STEPS):
        of_step, cut, certificate = drawn_step(rng, pool)
        steps.append([[[len(samples) + i for i in micro_batch] for micro_batch in rank] for rank in cut])
        samples.extend(of_step)
        certificates.append(certificate)
    return samples, replace(factories.schedule(*steps), certificates=tuple(certificates))


def test_recorded_noise_scale_agrees_with_the_gradients_of_single_samples(local_ray):
    rng = np.random.default_rng(2)
    pool = sample_pool(rng, 48)
    samples, plan = drawn_iteration(rng, pool)
    trainer = RayPolicyTrainer(factories.trainer_spec(dp=2), collective_timeout_s=30)
    try:
        trace, grad_sq = direct_moments(factories.reference_model(trainer.hf_config(), trainer.weights()), pool)
        # Weights that stand still: all steps measure the same model.
        trainer.start_phase(factories.phase(LOSS, lr=1e-12, measure_noise=True))
        records = trainer.train(samples=samples, schedule=plan)
    finally:
        trainer.close()
    noise = SmoothedNoise()
    for step, record in enumerate(records):
        assert record.status is StepStatus.TRAINED
        noise = noise.add(estimate_noise(record.noise, plan.step(step)), smoothing=0.99)
    logger.info("trace %s of %s, grad_sq %s of %s", noise.trace, trace, noise.grad_sq, grad_sq)
    assert noise.num_steps == NUM_STEPS
    assert noise.trace == pytest.approx(trace, rel=0.2)
    assert noise.grad_sq == pytest.approx(grad_sq, rel=0.2)
    assert noise.scale == pytest.approx(trace / grad_sq, rel=0.2)
