"""Policy losses: what makes likely tokens of good rollouts likelier. Each returns the loss of every token.

Legend: N loss tokens, r the ratio of new to old probability, A the advantage.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.contracts.loss_spec import CispoLossSpec, ClippedLossSpec, GspoLossSpec, PythonLossSpec
from trainer.contracts.metric import Reduction
from trainer.losses.token_batch import TokenBatch, TokenLoss, TokenMetric, mean_of_sample, token_mean

# e²⁰ and its square are finite in fp32: beyond it a ratio would become infinite, and its gradient NaN even where the
# clip takes it away.
MAX_LOG_RATIO = 20.0


def clipped_loss(spec: ClippedLossSpec, tokens: TokenBatch) -> TokenLoss:
    """−min(r·A, clip(r, 1 − clip_low, 1 + clip_high)·A) (PPO, Schulman et al. 2017, eq. 7), clip_high apart as in DAPO.

    With a dual clip c, tokens of negative advantage have at most the loss −c·A (Ye et al. 2020): a token that became
    much likelier since it was sampled would else outweigh all others.
    """
    log_ratio, advantages = _log_ratio(tokens), _advantages(tokens)
    ratio = log_ratio.exp()
    unclipped = ratio * advantages
    clipped = ratio.clamp(1.0 - spec.clip_low, 1.0 + spec.clip_high) * advantages
    objective = torch.minimum(unclipped, clipped)
    metrics = _ratio_metrics(log_ratio, ratio) | {"train/clip_frac": _frac(clipped < unclipped)}
    if spec.dual_clip is not None:
        floor = spec.dual_clip * advantages
        metrics["train/dual_clip_frac"] = _frac((advantages < 0) & (objective < floor))
        objective = torch.where(advantages < 0, torch.maximum(objective, floor), objective)
    return TokenLoss(losses=-objective, metrics=metrics)


def gspo_loss(spec: GspoLossSpec, tokens: TokenBatch) -> TokenLoss:
    """The clipped surrogate with s = (p_new(sample) / p_old(sample))^(1 / length) in place of r.

    GSPO, Zheng et al. 2025. Each token carries s with its own gradient, sg(s)·p_new / sg(p_new), as in section 4.3 of
    the paper: over the sample it adds up to the gradient of s, and advantages may differ within a sample.
    """
    log_ratio, advantages = _log_ratio(tokens), _advantages(tokens)
    of_sample = mean_of_sample(tokens, log_ratio)
    ratio = (of_sample + log_ratio - log_ratio.detach()).exp()
    unclipped = ratio * advantages
    clipped = ratio.clamp(1.0 - spec.clip_low, 1.0 + spec.clip_high) * advantages
    metrics = _ratio_metrics(log_ratio, ratio) | {"train/clip_frac": _frac(clipped < unclipped)}
    return TokenLoss(losses=-torch.minimum(unclipped, clipped), metrics=metrics)


def cispo_loss(spec: CispoLossSpec, tokens: TokenBatch) -> TokenLoss:
    """−sg(clip(r, 1 − clip_low, 1 + clip_high))·A·log p_new (CISPO, MiniMax-M1 2025, section 3.1).

    `train/clip_frac` counts the tokens whose weight is not their own ratio.
    """
    log_ratio, advantages = _log_ratio(tokens), _advantages(tokens)
    ratio = log_ratio.detach().exp()
    low = 0.0 if spec.clip_low is None else 1.0 - spec.clip_low
    weight = ratio.clamp(low, 1.0 + spec.clip_high)
    metrics = _ratio_metrics(log_ratio, ratio) | {"train/clip_frac": _frac(weight != ratio)}
    return TokenLoss(losses=-weight * advantages * tokens.log_probs, metrics=metrics)


def python_loss(spec: PythonLossSpec, tokens: TokenBatch) -> TokenLoss:
    """What the user's function says: `function(tokens: TokenBatch, **arguments) -> Tensor | TokenLoss`.

    The tensor is [N], the loss of every token, with a gradient by `tokens.log_probs` (or `tokens.entropy`); weights and
    denominators come after it. A TokenLoss brings metrics too. It is not called for a micro-batch without loss tokens.

    Raises:
        ValueError: it returns something else.
    """
    if tokens.log_probs.shape[0] == 0:
        return TokenLoss(losses=tokens.log_probs)
    name = spec.function.python
    given = spec.function.load("algorithm.loss")(tokens, **spec.function.arguments)
    result = given if isinstance(given, TokenLoss) else TokenLoss(losses=given)
    losses = result.losses
    if not isinstance(losses, Tensor) or losses.shape != tokens.log_probs.shape:
        told = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else f"a {type(losses).__name__}"
        raise ValueError(
            f"algorithm.loss is python: {name}, and it returned {told}; it must return one loss for each token, a "
            f"tensor of shape {tuple(tokens.log_probs.shape)}"
        )
    log_ratio = _log_ratio(tokens)
    return TokenLoss(losses=losses, metrics={**_ratio_metrics(log_ratio, log_ratio.exp()), **result.metrics})


def _log_ratio(tokens: TokenBatch) -> Tensor:
    assert tokens.old_log_probs is not None
    return (tokens.log_probs - tokens.old_log_probs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def _advantages(tokens: TokenBatch) -> Tensor:
    assert tokens.advantages is not None
    return tokens.advantages


@torch.no_grad()
def _ratio_metrics(log_ratio: Tensor, ratio: Tensor) -> dict[str, TokenMetric]:
    """How far the policy has moved: `train/kl` is Schulman's k3 of KL(old ‖ new), r − 1 − log r, never negative.

    ratio: what the loss clips, one for each token.
    """
    return {
        "train/kl": token_mean(log_ratio.exp() - 1.0 - log_ratio),
        "train/ratio_max": TokenMetric(reduction=Reduction.MAX, values=ratio),
        "train/ratio_min": TokenMetric(reduction=Reduction.MIN, values=ratio),
    }


def _frac(holds: Tensor) -> TokenMetric:
    return token_mean(holds.float())
