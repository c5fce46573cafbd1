"""Log-probabilities and entropy from logits that are spread over the tensor-parallel ranks by vocabulary.

Neither the whole row of logits nor a softmax of all tokens is ever made: tokens are worked off in chunks, and the
backward pass computes each chunk's softmax again from two numbers per token. The one large tensor is the gradient that
the output layer wants. The vocabulary is padded so that every rank has equally many columns; padded columns are cut off
here, so they have no probability and no gradient.

Legend: N loss tokens, V columns of this rank, C tokens of a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# C · V of a chunk, 64 MiB in fp32: large enough to keep a GPU busy, small beside the logits of a long micro-batch.
MAX_CHUNK_ELEMENTS = 2**24


def vocab_parallel_log_probs(
    logits: Tensor,
    token_ids: Tensor,
    *,
    vocab_size: int,
    temperature: float,
    group: dist.ProcessGroup,
    max_chunk_elements: int = MAX_CHUNK_ELEMENTS,
) -> tuple[Tensor, Tensor]:
    """Log p(token) and the entropy of p, both [N] and in nats; p is the softmax of logits / temperature.

    logits: [N, V], this rank's columns; must not change before the backward pass.
    token_ids: [N], of the whole vocabulary.
    vocab_size: entries of the vocabulary without padding.
    max_chunk_elements: bound of C · V; a single token may exceed it.

    Both results have a gradient; that of one nobody uses costs nothing.
    """
    first = group.rank() * logits.shape[1]
    num_columns = min(logits.shape[1], vocab_size - first)
    assert num_columns > 0, "a rank holds nothing but vocabulary padding"
    chunk_tokens = max(1, max_chunk_elements // num_columns)
    log_probs, entropy = _VocabParallelLogProbs.apply(  # type: ignore[no-untyped-call]
        logits[:, :num_columns], token_ids - first, temperature, chunk_tokens, group
    )
    return log_probs, entropy


class _VocabParallelLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, columns: Tensor, temperature: float, chunk_tokens: int, group: dist.ProcessGroup
    ) -> tuple[Tensor, Tensor]:
        """Columns outside [0, V) belong to other ranks."""
        largest = logits.amax(dim=-1).float() / temperature  # [N]
        _all_reduce(largest, dist.ReduceOp.MAX, group)
        is_here = (columns >= 0) & (columns < logits.shape[1])
        here = columns.clamp(0, logits.shape[1] - 1)
        # [3, N]: the chosen logit, Σ exp(x) and Σ exp(x)·x, summed over ranks in one go.
        sums = largest.new_empty(3, len(columns))
        for chunk in _chunks(len(columns), chunk_tokens):
            scaled = _scaled(logits[chunk], largest[chunk], temperature)
            chosen = scaled.gather(1, here[chunk, None]).squeeze(1)
            sums[0, chunk] = chosen.masked_fill(~is_here[chunk], 0.0)
            probs = scaled.exp()
            sums[1, chunk] = probs.sum(dim=-1)
            sums[2, chunk] = torch.linalg.vecdot(probs, scaled)
        _all_reduce(sums, dist.ReduceOp.SUM, group)
        chosen, normalizer, weighted = sums
        log_normalizer = normalizer.log()
        entropy = log_normalizer - weighted / normalizer
        ctx.save_for_backward(logits, here, is_here, largest + log_normalizer, entropy)
        ctx.temperature, ctx.chunk_tokens = temperature, chunk_tokens
        ctx.set_materialize_grads(False)
        return chosen - log_normalizer, entropy

    @staticmethod
    def backward(
        ctx: Any, of_log_prob: Tensor | None, of_entropy: Tensor | None
    ) -> tuple[Tensor | None, None, None, None, None]:
        """∂ log p(y) / ∂ x_j = [j = y] − p_j and ∂ H / ∂ x_j = −p_j (log p_j + H), with x = logits / temperature."""
        if of_log_prob is None and of_entropy is None:
            return None, None, None, None, None
        logits, here, is_here, log_normalizer, entropy = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        for chunk in _chunks(len(here), ctx.chunk_tokens):
            log_probs = _scaled(logits[chunk], log_normalizer[chunk], ctx.temperature)
            weights = None if of_log_prob is None else of_log_prob[chunk] / ctx.temperature
            if of_entropy is None:
                # In place, and nothing but what log p needs: this is the hot loop of most losses.
                of_logits = log_probs.exp_()
                assert weights is not None
                of_logits *= -weights[:, None]
            else:
                probs = log_probs.exp()
                per_prob = (log_probs.add_(entropy[chunk, None])).mul_(-of_entropy[chunk, None] / ctx.temperature)
                if weights is not None:
                    per_prob -= weights[:, None]
                of_logits = probs.mul_(per_prob)
            if weights is not None:
                of_logits.scatter_add_(1, here[chunk, None], (weights * is_here[chunk])[:, None])
            gradient[chunk] = of_logits
        return gradient, None, None, None, None


def _scaled(logits: Tensor, offset: Tensor, temperature: float) -> Tensor:
    """[C, V] logits / temperature − offset, in fp32; a new tensor."""
    if temperature == 1.0:
        return logits.float() - offset[:, None]
    return torch.div(logits.float(), temperature).sub_(offset[:, None])


def _chunks(num_tokens: int, chunk_tokens: int) -> Iterator[slice]:
    return (slice(first, first + chunk_tokens) for first in range(0, num_tokens, chunk_tokens))


def _all_reduce(tensor: Tensor, op: dist.ReduceOp.RedOpType, group: dist.ProcessGroup) -> None:
    if group.size() > 1:
        dist.all_reduce(tensor, op=op, group=group)
