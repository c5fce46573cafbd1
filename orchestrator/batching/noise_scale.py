"""The gradient noise scale of a step, from what its data-parallel ranks found: how many samples a step could well use.

`adaptive_size.py` measures each step with `estimate_noise`; `batch_controller.py` keeps the
`SmoothedNoise` and decides by it. Pure.

Samples have gradients g_i with mean μ and covariance Σ; a step's gradient is their mean, weighted by the certificate's
shares. The noise scale is tr(Σ) / |μ|², in samples (McCandlish et al. 2018, "An empirical model of large-batch
training", eq. 2.8): steps far smaller are mostly noise, steps far larger spend samples for little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trainer.contracts.metric import Metric, Reduction, mean
from trainer.contracts.policy_trainer import GradientNoise
from trainer.contracts.schedule import StepSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseEstimate:
    """One step's estimates. Each is unbiased and noisy: average many, numerator and denominator apart."""

    trace: float
    """tr(Σ), never negative."""
    grad_sq: float
    """|μ|²; negative where the noise of one step hides it."""
    num_effective: float
    """Equally weighted samples that would average as well as the step's did: (Σ share)² / Σ share²."""


def estimate_noise(noise: GradientNoise | None, schedule: StepSchedule) -> NoiseEstimate | None:
    """Estimate tr(Σ) and |μ|² from one step, without bias for any shares and any placement that ignores the gradients.

    With share_i from the certificate, W_r = Σ_{i on r} share_i and W = Σ_r W_r, rank r found G_r = c_r / W_r and the
    step G = Σ_r p_r G_r, p_r = W_r / W. Independent samples give, with n_r = W_r² / Σ_{i on r} share_i² and N alike,

        E|G_r|² = |μ|² + tr(Σ)/n_r        E|G|² = |μ|² + tr(Σ)/N        1/N = Σ_r p_r²/n_r

    and, because Σ_r p_r |G_r − G|² = Σ_r p_r |G_r|² − |G|²,

        tr(Σ) ≈ (Σ_r p_r |G_r|² − |G|²) / Σ_r p_r (1 − p_r)/n_r        |μ|² ≈ |G|² − tr(Σ)/N

    Two ranks of 4 samples, alike in weight, that found |G_1|² = |G_2|² = 10 while |G|² = 6: tr(Σ) = 4 / (1/4 − 1/8) =
    32 and |μ|² = 6 − 32/8 = 2; the noise scale is 16 samples.

    With equal ranks this is appendix A.1 of McCandlish et al. 2018 with B_small = n_r and B_big = N. We differ in that
    ranks may hold unequal numbers of unequally weighted samples: the ranks are averaged by p_r, the one choice for
    which μ drops out of the difference altogether, and which therefore cannot make tr(Σ) negative. That the rollouts
    of one prompt are not quite independent is neglected, as in the paper.

    Returns None where there is nothing to compare: not measured, fewer than two ranks with signal, a value not finite,
    or no gradient at all, of which neither noise nor a mean is known.
    """
    if noise is None or lacks_gradient(noise):
        return None
    ranks = [share for share in _rank_shares(noise, schedule) if share.weight > 0.0]
    values = [noise.sq_norm, *(rank.sq_norm for rank in ranks)]
    if len(ranks) < 2 or not all(map(math.isfinite, values)):
        return None
    total = math.fsum(rank.weight for rank in ranks)
    # p_r |G_r|² = |c_r|² / (W_r W), and p_r²/n_r = Σ share² / W².
    apart = math.fsum(rank.sq_norm / (rank.weight * total) for rank in ranks) - noise.sq_norm / total**2
    inverse_total = math.fsum(rank.sq_weight for rank in ranks) / total**2
    inverse_apart = math.fsum(rank.sq_weight / (rank.weight * total) for rank in ranks) - inverse_total
    # Below zero only by rounding, where all ranks found the same.
    trace = max(0.0, apart) / inverse_apart
    return NoiseEstimate(
        trace=trace,
        grad_sq=noise.sq_norm / total**2 - trace * inverse_total,
        num_effective=1.0 / inverse_total,
    )


def lacks_gradient(noise: GradientNoise | None) -> bool:
    """Whether every rank measured a gradient of exactly 0, as where all rewards of each group are equal."""
    return noise is not None and not any(noise.rank_sq_norms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedNoise:
    """Moving averages of tr(Σ) and |μ|² over the measured steps, apart: a mean of ratios would be biased.

    Averages begin at 0, which `1 − smoothing^num_steps` undoes, as in Adam.
    """

    num_steps: int = 0
    """Measured steps."""
    trace_sum: float = 0.0
    grad_sq_sum: float = 0.0
    weight: float = 0.0
    """What the two sums are to be divided by."""

    @property
    def trace(self) -> float | None:
        return self.trace_sum / self.weight if self.num_steps else None

    @property
    def grad_sq(self) -> float | None:
        return self.grad_sq_sum / self.weight if self.num_steps else None

    @property
    def scale(self) -> float | None:
        """tr(Σ) / |μ|², in samples; None before the first step, and where the averaged |μ|² is not above 0."""
        scale = self.trace_sum / self.grad_sq_sum if self.grad_sq_sum > 0.0 else math.inf
        return scale if math.isfinite(scale) else None

    def add(self, estimate: NoiseEstimate | None, *, smoothing: float) -> SmoothedNoise:
        """The averages after one more step; one without an estimate changes nothing."""
        if estimate is None:
            return self
        return SmoothedNoise(
            num_steps=self.num_steps + 1,
            trace_sum=smoothing * self.trace_sum + (1.0 - smoothing) * estimate.trace,
            grad_sq_sum=smoothing * self.grad_sq_sum + (1.0 - smoothing) * estimate.grad_sq,
            weight=smoothing * self.weight + (1.0 - smoothing),
        )


def noise_metrics(estimate: NoiseEstimate | None, smoothed: SmoothedNoise) -> dict[str, Metric]:
    """`noise/trace` and `noise/grad_sq` of this step alone, so that any bucket of steps has their true means, and
    `noise/scale`, the smoothed ratio in samples: the ratio of one step says nothing. Without a value the weight is 0.
    """
    scale = smoothed.scale
    return {
        "noise/trace": mean(0.0, 0) if estimate is None else mean(estimate.trace, 1),
        "noise/grad_sq": mean(0.0, 0) if estimate is None else mean(estimate.grad_sq, 1),
        "noise/scale": Metric(reduction=Reduction.LAST, total=scale or 0.0, count=0 if scale is None else 1),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankShare:
    weight: float
    """W_r."""
    sq_weight: float
    """Σ share_i²."""
    sq_norm: float
    """|c_r|²."""


def _rank_shares(noise: GradientNoise, schedule: StepSchedule) -> list[_RankShare]:
    """One entry per dp_rank. Each share is rounded once, from its exact fraction."""
    shares = [float(weight) for weight in schedule.certificate.weights]
    return [
        _rank_share([shares[i] for micro_batch in micro_batches for i in micro_batch], sq_norm)
        for micro_batches, sq_norm in zip(schedule.micro_batches, noise.rank_sq_norms, strict=True)
    ]


def _rank_share(shares: Sequence[float], sq_norm: float) -> _RankShare:
    return _RankShare(weight=math.fsum(shares), sq_weight=math.fsum(share**2 for share in shares), sq_norm=sq_norm)
