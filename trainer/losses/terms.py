"""What stands beside the policy loss: distance to a reference, bonus for entropy, correction of the engine's log-probs.

Legend: N loss tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.contracts.loss_spec import CorrectionSpec, KlEstimator, PolicyLossSpec, TisSpec
from trainer.contracts.metric import Reduction
from trainer.losses.policy import MAX_LOG_RATIO
from trainer.losses.token_batch import TokenBatch, TokenLoss, TokenMetric, token_mean


def with_terms(spec: PolicyLossSpec, tokens: TokenBatch, policy: TokenLoss) -> TokenLoss:
    """Give correction · policy loss + kl.coef · kl − entropy_coef · entropy, with the metrics of each."""
    metrics = {**policy.metrics, **_engine_metrics(tokens)}
    losses = policy.losses
    if spec.correction is not None:
        weights = correction_weights(spec.correction, tokens)
        losses = weights * losses
        metrics |= {
            "train/correction_mean": token_mean(weights),
            "train/correction_frac": token_mean(_is_corrected(spec.correction, weights).float()),
        }
    parts = {"train/policy_loss": losses}
    if spec.kl is not None:
        assert tokens.reference_log_probs is not None
        kl = kl_estimate(spec.kl.estimator, tokens.log_probs, tokens.reference_log_probs)
        metrics["train/kl_reference"] = token_mean(kl)
        parts["train/kl_loss"] = spec.kl.coef * kl
    if spec.entropy_coef:
        parts["train/entropy_loss"] = -spec.entropy_coef * tokens.entropy
    whole = torch.stack(list(parts.values())).sum(dim=0) if len(parts) > 1 else losses
    return TokenLoss(losses=whole, metrics=metrics, parts=parts if len(parts) > 1 else {})


def kl_estimate(estimator: KlEstimator, log_probs: Tensor, reference_log_probs: Tensor) -> Tensor:
    """KL(policy ‖ reference) of every token, in nats, from the token that the policy drew (Schulman 2020). [N]."""
    log_ratio = (reference_log_probs - log_probs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    match estimator:
        case KlEstimator.K1:
            return -log_ratio
        case KlEstimator.K2:
            return log_ratio.square() / 2
        case KlEstimator.K3:
            return log_ratio.exp() - 1.0 - log_ratio


@torch.no_grad()
def correction_weights(spec: CorrectionSpec, tokens: TokenBatch) -> Tensor:
    """What the policy loss of each token is multiplied by, from p_trainer / p_engine under the same weights. [N].

    TIS bounds it (truncated importance sampling, Yao et al. 2025); IcePop (Ling team 2025) lets go of tokens on which
    the two do not agree.
    """
    assert tokens.old_log_probs is not None
    assert tokens.engine_log_probs is not None
    weights = (tokens.old_log_probs - tokens.engine_log_probs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    if isinstance(spec, TisSpec):
        return weights.clamp(max=spec.cap)
    return weights.where((weights >= spec.low) & (weights <= spec.high), 0.0)


def _is_corrected(spec: CorrectionSpec, weights: Tensor) -> Tensor:
    """Tokens that were cut to the cap, or left out."""
    return weights == (spec.cap if isinstance(spec, TisSpec) else 0.0)


@torch.no_grad()
def _engine_metrics(tokens: TokenBatch) -> dict[str, TokenMetric]:
    """How far the trainer's log-probs lie from the engine's for the same tokens.

    Where the old ones are the engine's, the present ones stand for the trainer's: after the iteration's first step they
    have moved by what was learned too.
    """
    assert tokens.old_log_probs is not None
    if tokens.engine_log_probs is None:
        difference = (tokens.log_probs - tokens.old_log_probs).abs()
    else:
        difference = (tokens.old_log_probs - tokens.engine_log_probs).abs()
    return {
        "train/log_prob_diff": token_mean(difference),
        "train/log_prob_diff_max": TokenMetric(reduction=Reduction.MAX, values=difference),
    }
