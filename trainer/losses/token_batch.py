"""What a loss gets and what it gives, token by token, and how metrics of tokens become numbers.

Legend: N loss tokens of a micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trainer.contracts.metric import Metric, Reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """What a loss may look at: all loss tokens of a micro-batch, prompt and padding already left out.

    Samples are whole, whatever ranks they are spread over. Log-probs are of the tokens that are there, in nats, at the
    sampling temperature.
    """

    log_probs: Tensor  # [N], with gradient
    entropy: Tensor  # [N], with gradient: of the whole distribution in the token's place
    sample_index: Tensor  # [N]: which of the micro-batch's samples a token is of
    num_samples: int
    old_log_probs: Tensor | None = None  # [N], before the iteration's first update
    advantages: Tensor | None = None  # [N]
    engine_log_probs: Tensor | None = None  # [N]; None where they are the old ones
    reference_log_probs: Tensor | None = None  # [N], by the frozen reference


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
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    """What `losses` is the sum of, by metric name, each [N]; empty where there is only one part."""


def no_tokens(device: torch.device) -> TokenBatch:
    """A micro-batch without loss tokens: for the names of the metrics that a loss would have."""
    nothing = torch.empty(0, device=device)
    return TokenBatch(
        log_probs=nothing,
        entropy=nothing,
        sample_index=nothing.long(),
        num_samples=0,
        old_log_probs=nothing,
        advantages=nothing,
        engine_log_probs=nothing,
        reference_log_probs=nothing,
    )


def mean_of_sample(tokens: TokenBatch, values: Tensor) -> Tensor:
    """For each token the mean of `values` over all loss tokens of its sample, without gradient. [N] → [N]."""
    with_count = torch.stack([values.detach(), torch.ones_like(values)])
    sums = with_count.new_zeros(2, tokens.num_samples).index_add_(1, tokens.sample_index, with_count)
    return (sums[0] / sums[1])[tokens.sample_index]


def token_mean(values: Tensor) -> TokenMetric:
    """A metric whose value is the mean over tokens. values: [N]."""
    return TokenMetric(reduction=Reduction.MEAN, values=values)


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
