"""Slow references of the losses, one token at a time as their papers write them. Gradients come from autograd.

Shares no code with `trainer/losses/`: ratios are of a whole sample or of a token, and nothing is a tensor of many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    CorrectionSpec,
    GspoLossSpec,
    KlEstimator,
    LossSpec,
    PolicyLossSpec,
    SftLossSpec,
    TisSpec,
)


@dataclass(frozen=True, kw_only=True)
class PlainSample:
    """One sample's loss tokens. Its advantage is the same for all of them."""

    log_probs: Sequence[Tensor]  # scalars, with gradient
    entropies: Sequence[Tensor]
    advantage: float = 0.0
    old: Sequence[float] = ()
    engine: Sequence[float] = ()
    reference: Sequence[float] = ()


def plain_losses(loss: LossSpec, one: PlainSample) -> list[Tensor]:
    """The loss of each token, without the sample's weight."""
    if isinstance(loss, SftLossSpec):
        return [-log_prob for log_prob in one.log_probs]
    assert isinstance(loss, PolicyLossSpec)
    return [_token(loss, one, t) for t in range(len(one.log_probs))]


def _token(loss: PolicyLossSpec, one: PlainSample, t: int) -> Tensor:
    total = _policy(loss, one, t)
    if loss.correction is not None:
        total = plain_correction(loss.correction, one.old[t], one.engine[t]) * total
    if loss.kl is not None:
        total = total + loss.kl.coef * plain_kl(loss.kl.estimator, one.log_probs[t], one.reference[t])
    return total - loss.entropy_coef * one.entropies[t]


def _policy(loss: PolicyLossSpec, one: PlainSample, t: int) -> Tensor:
    match loss:
        case ClippedLossSpec():
            ratio = torch.exp(one.log_probs[t] - one.old[t])
            objective = _surrogate(ratio, one.advantage, loss.clip_low, loss.clip_high)
            # Ye et al. 2020, "Mastering Complex Control in MOBA Games with Deep Reinforcement Learning", dual-clip PPO.
            if loss.dual_clip is not None and one.advantage < 0:
                objective = _larger(objective, torch.tensor(loss.dual_clip * one.advantage))
            return -objective
        case GspoLossSpec():
            # Zheng et al. 2025, "Group Sequence Policy Optimization": s = exp(1/|y| · Σ_t log ratio_t).
            log_ratios = [new - old for new, old in zip(one.log_probs, one.old, strict=True)]
            ratio = torch.exp(sum(log_ratios, torch.tensor(0.0)) / len(log_ratios))
            return -_surrogate(ratio, one.advantage, loss.clip_low, loss.clip_high)
        case CispoLossSpec():
            # MiniMax 2025, "MiniMax-M1": REINFORCE, weighed by a clipped ratio that has no gradient.
            ratio = math.exp(float(one.log_probs[t].detach()) - one.old[t])
            low = 0.0 if loss.clip_low is None else 1 - loss.clip_low
            return -min(max(ratio, low), 1 + loss.clip_high) * one.advantage * one.log_probs[t]
    raise AssertionError(loss)


def _surrogate(ratio: Tensor, advantage: float, clip_low: float, clip_high: float) -> Tensor:
    """Schulman et al. 2017, eq. 7, with the two bounds of DAPO (Yu et al. 2025, section 3.1)."""
    bounded = torch.tensor(min(max(float(ratio.detach()), 1 - clip_low), 1 + clip_high))
    return -_larger(-ratio * advantage, -bounded * advantage)


def _larger(left: Tensor, right: Tensor) -> Tensor:
    return left if float(left.detach()) >= float(right.detach()) else right


def plain_correction(correction: CorrectionSpec, old: float, engine: float) -> float:
    """p_trainer / p_engine: truncated (Yao et al. 2025), or 0 outside a band (IcePop, Ling team 2025)."""
    weight = math.exp(old - engine)
    if isinstance(correction, TisSpec):
        return min(weight, correction.cap)
    return weight if correction.low <= weight <= correction.high else 0.0


def plain_kl(estimator: KlEstimator, log_prob: Tensor, reference: float) -> Tensor:
    """Schulman 2020, "Approximating KL Divergence": of KL(q ‖ p) from x drawn from q, with r = p(x) / q(x)."""
    r = torch.exp(reference - log_prob)
    return {
        KlEstimator.K1: -torch.log(r),
        KlEstimator.K2: torch.log(r) ** 2 / 2,
        KlEstimator.K3: (r - 1) - torch.log(r),
    }[estimator]
