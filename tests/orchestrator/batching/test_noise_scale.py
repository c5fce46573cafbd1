from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.noise_scale import (
    NoiseEstimate,
    SmoothedNoise,
    estimate_noise,
    lacks_gradient,
    noise_metrics,
)
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.metric import Reduction
from trainer.contracts.policy_trainer import GradientNoise
from trainer.contracts.schedule import StepSchedule


def step_schedule(*ranks: list[Fraction | int]) -> StepSchedule:
    """Each rank's shares, one micro-batch per rank."""
    micro_batches, first = [], 0
    for shares in ranks:
        micro_batches.append((tuple(range(first, first + len(shares))),))
        first += len(shares)
    return StepSchedule(
        micro_batches=tuple(micro_batches),
        certificate=Certificate(
            loss_aggregation=LossAggregation.CONSTANT,
            sample_ids=tuple(str(i) for i in range(first)),
            weights=tuple(Fraction(share) for shares in ranks for share in shares),
        ),
    )


def measured(gradients: np.ndarray, schedule: StepSchedule) -> GradientNoise:
    """What a trainer tells of a step whose samples have these gradients, [sample, parameter]."""
    shares = np.array([float(weight) for weight in schedule.certificate.weights])
    ranks = [
        sum((shares[i] * gradients[i] for i in micro_batch), start=np.zeros(gradients.shape[1]))
        for (micro_batch,) in schedule.micro_batches
    ]
    return GradientNoise(
        rank_sq_norms=tuple(float(share @ share) for share in ranks), sq_norm=float(np.sum(ranks, axis=0) @ sum(ranks))
    )


def expected_norms(schedule: StepSchedule, *, trace: float, grad_sq: float) -> GradientNoise:
    """The means of the squared norms, over all draws of the samples' gradients."""
    shares = [float(weight) for weight in schedule.certificate.weights]

    def sq_norm(indices) -> float:
        return sum(shares[i] for i in indices) ** 2 * grad_sq + sum(shares[i] ** 2 for i in indices) * trace

    return GradientNoise(
        rank_sq_norms=tuple(sq_norm(micro_batch) for (micro_batch,) in schedule.micro_batches),
        sq_norm=sq_norm(range(len(shares))),
    )


SHARES = st.integers(0, 50).map(lambda share: Fraction(share, 97))


@given(
    ranks=st.lists(st.lists(SHARES, max_size=9), min_size=2, max_size=8),
    trace=st.floats(0.01, 1e4),
    grad_sq=st.floats(0.01, 1e4),
)
def test_any_shares_and_ranks_give_back_what_their_expected_norms_were_made_of(ranks, trace, grad_sq):
    schedule = step_schedule(*ranks)
    estimate = estimate_noise(expected_norms(schedule, trace=trace, grad_sq=grad_sq), schedule)
    if sum(sum(shares) > 0 for shares in ranks) < 2:
        assert estimate is None
        return
    shares = [float(share) for rank in ranks for share in rank]
    assert estimate.trace == pytest.approx(trace, rel=1e-6, abs=1e-9 * grad_sq * len(shares))
    assert estimate.grad_sq == pytest.approx(grad_sq, rel=1e-6, abs=1e-6 * trace)
    assert estimate.num_effective == pytest.approx(sum(shares) ** 2 / sum(share**2 for share in shares))


def test_estimates_are_unbiased_for_unequal_ranks_and_shares():
    rng = np.random.default_rng(7)
    ranks = (
        [Fraction(1, 20)] * 5,
        [Fraction(2, 20), Fraction(1, 40)],
        [Fraction(3, 8), Fraction(1, 8), Fraction(1, 8)],
    )
    schedule = step_schedule(*ranks)
    mean, deviation = rng.normal(size=12), rng.uniform(0.2, 3.0, size=12)
    draws = [
        estimate_noise(measured(mean + deviation * rng.normal(size=(10, 12)), schedule), schedule) for _ in range(6000)
    ]
    for found, true in (
        ([draw.trace for draw in draws], np.sum(deviation**2)),
        ([draw.grad_sq for draw in draws], mean @ mean),
    ):
        error = np.std(found) / math.sqrt(len(found))
        assert error < 0.02 * true, "too few draws to tell a bias"
        assert abs(np.mean(found) - true) < 3 * error
    assert min(draw.trace for draw in draws) >= 0.0


@given(
    rank_sq_norms=st.lists(st.floats(1.0, 100.0), min_size=2, max_size=8),
    samples_per_rank=st.integers(1, 16),
    part=st.floats(0.1, 1.0),
)
def test_equal_ranks_give_the_formula_of_mccandlish(rank_sq_norms, samples_per_rank, part):
    num_ranks = len(rank_sq_norms)
    small, big = samples_per_rank, samples_per_rank * num_ranks
    schedule = step_schedule(*[[Fraction(1, big)] * samples_per_rank] * num_ranks)
    small_sq = float(np.mean(rank_sq_norms))
    big_sq = part * small_sq
    # c_r = G_r / num_ranks
    noise = GradientNoise(rank_sq_norms=tuple(sq / num_ranks**2 for sq in rank_sq_norms), sq_norm=big_sq)
    estimate = estimate_noise(noise, schedule)
    assert estimate.trace == pytest.approx((small_sq - big_sq) / (1 / small - 1 / big), abs=1e-6)
    assert estimate.grad_sq == pytest.approx((big * big_sq - small * small_sq) / (big - small), abs=1e-6)
    assert estimate.num_effective == pytest.approx(big)


def test_worked_example():
    quarter = [Fraction(1, 8)] * 4
    estimate = estimate_noise(GradientNoise(rank_sq_norms=(2.5, 2.5), sq_norm=6.0), step_schedule(quarter, quarter))
    assert estimate.trace == pytest.approx(32)
    assert estimate.grad_sq == pytest.approx(2)
    assert SmoothedNoise().add(estimate, smoothing=0.5).scale == pytest.approx(16)


def test_scale_of_the_weights_does_not_matter():
    """Under `constant` they do not sum to 1: the noise is that of the weighted mean."""
    ranks = ([1, 2, 2], [3, 1])
    gradients = np.random.default_rng(1).normal(1.0, 1.0, size=(5, 4))
    found = []
    for total in (9, 31):
        schedule = step_schedule(*[[Fraction(share, total) for share in shares] for shares in ranks])
        found.append(estimate_noise(measured(gradients, schedule), schedule))
    assert found[0].trace == pytest.approx(found[1].trace)
    assert found[0].grad_sq == pytest.approx(found[1].grad_sq)


def test_ranks_that_agree_have_no_noise():
    schedule = step_schedule([Fraction(1, 3)], [Fraction(1, 3), Fraction(1, 3)])
    estimate = estimate_noise(measured(np.full((3, 2), 0.1), schedule), schedule)
    assert estimate.trace == pytest.approx(0.0, abs=1e-15)
    assert estimate.grad_sq == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("noise", "ranks"),
    [
        (None, ([1], [1])),
        (GradientNoise(rank_sq_norms=(1.0,), sq_norm=1.0), ([1, 1],)),
        (GradientNoise(rank_sq_norms=(1.0, 0.0), sq_norm=1.0), ([1, 1], [])),
        (GradientNoise(rank_sq_norms=(1.0, 0.0), sq_norm=1.0), ([1, 1], [0])),
        (GradientNoise(rank_sq_norms=(1.0, math.nan), sq_norm=1.0), ([1], [1])),
        (GradientNoise(rank_sq_norms=(1.0, 1.0), sq_norm=math.inf), ([1], [1])),
        (GradientNoise(rank_sq_norms=(0.0, 0.0), sq_norm=0.0), ([0], [0])),
        (GradientNoise(rank_sq_norms=(0.0, 0.0), sq_norm=0.0), ([1, 1], [1, 1])),
    ],
    ids=["unmeasured", "one rank", "empty rank", "masked rank", "nan", "infinite", "all masked", "no gradient"],
)
def test_step_with_nothing_to_compare_gives_no_estimate(noise, ranks):
    assert estimate_noise(noise, step_schedule(*ranks)) is None


def test_no_gradient_is_told_from_one_that_was_not_measured_or_is_small():
    assert lacks_gradient(GradientNoise(rank_sq_norms=(0.0, 0.0), sq_norm=0.0))
    assert not lacks_gradient(None)
    assert not lacks_gradient(GradientNoise(rank_sq_norms=(0.0, 1e-30), sq_norm=1e-30))
    assert not lacks_gradient(GradientNoise(rank_sq_norms=(math.nan, 0.0), sq_norm=math.nan))


def test_rank_without_samples_does_not_change_the_estimate():
    gradients = np.random.default_rng(3).normal(size=(4, 6))
    two, three = step_schedule([1, 2], [1, 1]), step_schedule([1, 2], [], [1, 1])
    assert estimate_noise(measured(gradients, three), three) == estimate_noise(measured(gradients, two), two)


def estimate(trace: float, grad_sq: float) -> NoiseEstimate:
    return NoiseEstimate(trace=trace, grad_sq=grad_sq, num_effective=8.0)


@given(
    steps=st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e3, 1e6)), min_size=1, max_size=30),
    smoothing=st.floats(0.0, 0.999),
)
def test_smoothing_is_the_weighted_mean_of_numerator_and_denominator_apart(steps, smoothing):
    noise = SmoothedNoise()
    for trace, grad_sq in steps:
        noise = noise.add(estimate(trace, grad_sq), smoothing=smoothing)
    weights = smoothing ** np.arange(len(steps))[::-1]
    assert noise.num_steps == len(steps)
    for found, column in ((noise.trace, 0), (noise.grad_sq, 1)):
        assert found == pytest.approx(np.average([step[column] for step in steps], weights=weights), abs=1e-6)
    if noise.grad_sq > 1e-3:
        assert noise.scale == pytest.approx(noise.trace / noise.grad_sq)


def test_step_without_estimate_leaves_the_averages():
    noise = SmoothedNoise().add(estimate(4.0, 2.0), smoothing=0.9)
    assert noise.add(None, smoothing=0.9) is noise
    assert noise.trace == pytest.approx(4.0)


@pytest.mark.parametrize("grad_sq", [0.0, -1.0, 5e-324])
def test_hidden_gradient_has_no_noise_scale(grad_sq):
    assert SmoothedNoise().scale is None
    assert SmoothedNoise().add(estimate(4.0, grad_sq), smoothing=0.0).scale is None


def test_metrics_hold_this_step_and_the_smoothed_ratio():
    noise = SmoothedNoise().add(estimate(2.0, 1.0), smoothing=0.5)
    noise = noise.add(estimate(8.0, -0.25), smoothing=0.5)
    metrics = noise_metrics(estimate(8.0, -0.25), noise)
    assert (metrics["noise/trace"].value, metrics["noise/trace"].count) == (8.0, 1)
    assert (metrics["noise/grad_sq"].value, metrics["noise/grad_sq"].count) == (-0.25, 1)
    assert metrics["noise/scale"].value == pytest.approx((0.25 * 2 + 0.5 * 8) / (0.25 * 1 - 0.5 * 0.25))
    assert metrics["noise/scale"].reduction is Reduction.LAST
    assert {metric.value for metric in noise_metrics(None, SmoothedNoise()).values()} == {None}
