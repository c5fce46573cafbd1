"""The losses that a phase can optimise, per token. Pure torch: no Megatron, no process groups, no batch sizes.

Weights and denominators are not applied here: `trainer/train_step.py` multiplies each token's loss by its sample's
`loss_scale` and divides by the step's own global batch size, the same way for every loss.

To add a loss: write a function of (spec, TokenBatch), add it to `LOSSES`, and its spec to
`trainer/contracts/loss_spec.py`.

Legend: N loss tokens of a micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from trainer.contracts.loss_spec import ClippedLossSpec, LossSpec, SftLossSpec
from trainer.contracts.metric import Metric, Reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """What a loss may look at: the loss tokens of a micro-batch, prompt and padding already left out."""

    log_probs: Tensor  # [N], nats, with gradient
    old_log_probs: Tensor | None  # [N]
    advantages: Tensor | None  # [N]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMetric:
    """One value per token and how they become one number."""

    reduction: Reduction
    values: Tensor  # [N]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLoss:
    """The loss of every token, and what is worth knowing about it."""

    losses: Tensor  # [N], with gradient
    metrics: Mapping[str, TokenMetric] = field(default_factory=dict)


def token_loss(spec: LossSpec, tokens: TokenBatch) -> TokenLoss:
    """Apply the loss that `spec` names."""
    return LOSSES[type(spec)](spec, tokens)


def logit_temperature(spec: LossSpec) -> float:
    """What the logits are divided by before the softmax: the sampling temperature, where the loss has one."""
    return spec.temperature if isinstance(spec, ClippedLossSpec) else 1.0


def sft_loss(spec: SftLossSpec, tokens: TokenBatch) -> TokenLoss:  # noqa: ARG001
    """Negative log-likelihood, −log p(token)."""
    return TokenLoss(losses=-tokens.log_probs)


def clipped_loss(spec: ClippedLossSpec, tokens: TokenBatch) -> TokenLoss:
    """−min(r·A, clip(r, 1 − clip_low, 1 + clip_high)·A) with r = p_new / p_old (PPO, Schulman et al. 2017, eq. 7).

    `train/kl` is Schulman's k3 estimate of KL(old ‖ new), r − 1 − log r: never negative, and 0 for equal policies.
    """
    assert tokens.old_log_probs is not None
    assert tokens.advantages is not None
    log_ratio = tokens.log_probs - tokens.old_log_probs
    ratio = log_ratio.exp()
    unclipped = ratio * tokens.advantages
    clipped = ratio.clamp(1.0 - spec.clip_low, 1.0 + spec.clip_high) * tokens.advantages
    with torch.no_grad():
        metrics = {
            "train/clip_frac": TokenMetric(reduction=Reduction.MEAN, values=(clipped < unclipped).float()),
            "train/kl": TokenMetric(reduction=Reduction.MEAN, values=ratio - 1.0 - log_ratio),
            "train/log_prob_diff": TokenMetric(reduction=Reduction.MEAN, values=log_ratio.abs()),
            "train/ratio_max": TokenMetric(reduction=Reduction.MAX, values=ratio),
            "train/ratio_min": TokenMetric(reduction=Reduction.MIN, values=ratio),
        }
    return TokenLoss(losses=-torch.minimum(unclipped, clipped), metrics=metrics)


LOSSES: Mapping[type, Callable[[Any, TokenBatch], TokenLoss]] = {
    SftLossSpec: sft_loss,
    ClippedLossSpec: clipped_loss,
}


def reduce_metrics(metrics: Mapping[str, TokenMetric]) -> dict[str, Metric]:
    """One `Metric` for each, in a single copy to the host. Without tokens the count is 0: there is no value."""
    if not metrics:
        return {}
    num_tokens = next(iter(metrics.values())).values.shape[0]
    if num_tokens == 0:
        return {name: Metric(reduction=metric.reduction, total=0.0, count=0) for name, metric in metrics.items()}
    totals = torch.stack([_REDUCERS[metric.reduction](metric.values.detach().double()) for metric in metrics.values()])
    return {
        name: Metric(reduction=metric.reduction, total=total, count=num_tokens)
        for (name, metric), total in zip(metrics.items(), totals.tolist(), strict=True)
    }


# The total that `Metric` keeps: for a mean the sum, beside the count. LAST has no meaning over tokens.
_REDUCERS: Mapping[Reduction, Callable[[Tensor], Tensor]] = {
    Reduction.MEAN: torch.sum,
    Reduction.SUM: torch.sum,
    Reduction.MAX: torch.max,
    Reduction.MIN: torch.min,
}
