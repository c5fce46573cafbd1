"""Log-probabilities and entropy from logits that are spread over the tensor-parallel ranks by vocabulary.

Neither the whole row of logits nor the whole softmax is ever gathered. The vocabulary is padded so that every rank has
equally many columns; padded columns are cut off here, so they have no probability and no gradient.

Legend: N loss tokens, V columns of this rank.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def vocab_parallel_log_probs(
    logits: Tensor, token_ids: Tensor, *, vocab_size: int, temperature: float, group: dist.ProcessGroup
) -> tuple[Tensor, Tensor]:
    """Log p(token) and the entropy of p, both [N] and in nats; p is the softmax of logits / temperature.

    logits: [N, V], this rank's columns.
    token_ids: [N], of the whole vocabulary.
    vocab_size: entries of the vocabulary without padding.
    Only the first result has a gradient.
    """
    first = group.rank() * logits.shape[1]
    num_columns = min(logits.shape[1], vocab_size - first)
    assert num_columns > 0, "a rank holds nothing but vocabulary padding"
    log_probs, entropy = _VocabParallelLogProbs.apply(  # type: ignore[no-untyped-call]
        logits[:, :num_columns], token_ids - first, temperature, group
    )
    return log_probs, entropy


class _VocabParallelLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, columns: Tensor, temperature: float, group: dist.ProcessGroup
    ) -> tuple[Tensor, Tensor]:
        """Columns outside [0, V) belong to other ranks."""
        scaled = logits.float() / temperature  # [N, V]
        largest = scaled.amax(dim=-1)
        _all_reduce(largest, dist.ReduceOp.MAX, group)
        scaled -= largest[:, None]
        is_here = (columns >= 0) & (columns < scaled.shape[1])
        here = columns.clamp(0, scaled.shape[1] - 1)[:, None]
        chosen = scaled.gather(1, here).squeeze(1).masked_fill(~is_here, 0.0)
        probs = scaled.exp()
        # [3, N]: the chosen logit, Σ exp(x) and Σ exp(x)·x, summed over ranks in one go.
        sums = torch.stack([chosen, probs.sum(dim=-1), torch.linalg.vecdot(probs, scaled)])
        _all_reduce(sums, dist.ReduceOp.SUM, group)
        chosen, normalizer, weighted = sums
        log_normalizer = normalizer.log()
        probs /= normalizer[:, None]
        ctx.save_for_backward(probs, here, is_here)
        ctx.temperature = temperature
        entropy = log_normalizer - weighted / normalizer
        ctx.mark_non_differentiable(entropy)
        return chosen - log_normalizer, entropy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        """∂ log p(y) / ∂ logit_j = ([j = y] − p_j) / temperature."""
        probs, here, is_here = ctx.saved_tensors
        scale = (gradient / ctx.temperature)[:, None]
        logits_gradient = probs * -scale
        logits_gradient.scatter_add_(1, here, scale * is_here[:, None])
        return logits_gradient, None, None, None


def _all_reduce(tensor: Tensor, op: dist.ReduceOp.RedOpType, group: dist.ProcessGroup) -> None:
    if group.size() > 1:
        dist.all_reduce(tensor, op=op, group=group)
