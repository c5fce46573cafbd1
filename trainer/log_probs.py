"""Log-probabilities and entropy of tokens from the hidden states before the output layer, whose weight is spread over
the tensor-parallel ranks by vocabulary.

The logits are never there as a whole: tokens are worked off in chunks, and where there are several, the backward pass
computes each chunk's logits once more. So a long micro-batch costs a chunk and not tokens × vocabulary, forward and
backward. The vocabulary is padded so that every rank has equally many columns; padded columns are cut off here, so they
have no probability and no gradient.

Legend: N loss tokens, H hidden size, V columns of this rank, C tokens of a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainer.device import product_fp32

# C · V of a chunk, 128 MiB in fp32. With 152,000 columns that is 220 tokens: so many uses of each weight that a GPU is
# bound by its arithmetic, not by reading the weight again for every chunk.
MAX_CHUNK_ELEMENTS = 2**25


def vocab_parallel_log_probs(
    hidden: Tensor,
    weight: Tensor,
    token_ids: Tensor,
    *,
    vocab_size: int,
    temperature: float,
    group: dist.ProcessGroup,
    max_chunk_elements: int = MAX_CHUNK_ELEMENTS,
) -> tuple[Tensor, Tensor]:
    """Log p(token) and the entropy of p, both [N] and in nats; p is the softmax of hidden · weightᵀ / temperature.

    hidden: [N, H], the same on all ranks of the group.
    weight: [V, H], this rank's rows of the output layer.
    token_ids: [N], of the whole vocabulary.
    vocab_size: entries of the vocabulary without padding.
    max_chunk_elements: bound of C · V; a single token may exceed it.

    Both results have a gradient, which reaches hidden (summed over the ranks) and weight; that of one nobody uses costs
    nothing.
    """
    first = group.rank() * weight.shape[0]
    num_columns = min(weight.shape[0], vocab_size - first)
    assert num_columns > 0, "a rank holds nothing but vocabulary padding"
    chunk_tokens = max(1, max_chunk_elements // num_columns)
    log_probs, entropy = _VocabParallelLogProbs.apply(  # type: ignore[no-untyped-call]
        hidden, weight, token_ids - first, num_columns, temperature, chunk_tokens, group
    )
    return log_probs, entropy


class _VocabParallelLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        columns: Tensor,
        num_columns: int,
        temperature: float,
        chunk_tokens: int,
        group: dist.ProcessGroup,
    ) -> tuple[Tensor, Tensor]:
        """Columns outside [0, num_columns) belong to other ranks."""
        num_tokens, rows = len(columns), weight[:num_columns]
        is_here = (columns >= 0) & (columns < num_columns)
        here = columns.clamp(0, num_columns - 1)
        logits = None
        # With x = logits / temperature: the largest x, the chosen one, Σ exp(x − largest) and Σ exp(x − largest)·(…).
        largest, chosen, *sums = torch.empty(4, num_tokens, dtype=torch.float32, device=hidden.device)
        for chunk in _chunks(num_tokens, chunk_tokens):
            logits = product_fp32(hidden[chunk], rows.T)
            largest[chunk] = logits.amax(dim=-1) / temperature
            chosen[chunk] = logits.gather(1, here[chunk, None]).squeeze(1) / temperature
            scaled = _scaled(logits, largest[chunk], temperature)
            probs = scaled.exp()
            sums[0][chunk] = probs.sum(dim=-1)
            sums[1][chunk] = torch.linalg.vecdot(probs, scaled)
        log_prob, entropy, log_normalizer = _over_ranks(largest, chosen, is_here, sums, group)
        # One chunk is kept rather than computed again: it is no larger than what the backward pass makes of it.
        kept = logits if num_tokens <= chunk_tokens else None
        ctx.save_for_backward(hidden, weight, here, is_here, log_normalizer, entropy, kept)
        ctx.num_columns, ctx.temperature, ctx.chunk_tokens, ctx.group = num_columns, temperature, chunk_tokens, group
        ctx.set_materialize_grads(False)
        return log_prob, entropy

    @staticmethod
    def backward(ctx: Any, of_log_prob: Tensor | None, of_entropy: Tensor | None) -> tuple[Tensor | None, ...]:
        """∂ log p(y) / ∂ x_j = [j = y] − p_j and ∂ H / ∂ x_j = −p_j (log p_j + H), with x = logits / temperature."""
        if of_log_prob is None and of_entropy is None:
            return (None,) * 7
        hidden, weight, here, is_here, log_normalizer, entropy, kept = ctx.saved_tensors
        rows = weight[: ctx.num_columns]
        of_hidden = torch.empty_like(hidden)
        # In fp32, so that a weight in half precision does not round once for every chunk.
        of_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
        pending = []
        for chunk in _chunks(len(here), ctx.chunk_tokens):
            logits = product_fp32(hidden[chunk], rows.T) if kept is None else kept
            of_logits = _of_logits(
                _scaled(logits, log_normalizer[chunk], ctx.temperature),
                entropy[chunk],
                here[chunk],
                is_here[chunk],
                None if of_log_prob is None else of_log_prob[chunk] / ctx.temperature,
                None if of_entropy is None else of_entropy[chunk] / ctx.temperature,
            ).to(hidden.dtype)
            of_hidden[chunk] = of_logits @ rows
            if ctx.group.size() > 1:
                # While it travels, the weight's gradient is computed.
                pending.append(dist.all_reduce(of_hidden[chunk], group=ctx.group, async_op=True))
            of_rows = of_weight[: ctx.num_columns]
            if hidden.dtype == torch.float32:
                of_rows.addmm_(of_logits.T, hidden[chunk])
            else:
                of_rows += product_fp32(of_logits.T, hidden[chunk])
        for message in pending:
            message.wait()
        return of_hidden, of_weight.to(weight.dtype), None, None, None, None, None


def _over_ranks(
    largest: Tensor, chosen: Tensor, is_here: Tensor, sums: list[Tensor], group: dist.ProcessGroup
) -> tuple[Tensor, Tensor, Tensor]:
    """From each rank's figures, [N] each, to log p(token), the entropy, and log Σ exp(x) over the whole vocabulary."""
    normalizer, weighted = sums
    if group.size() > 1:
        own = largest.clone()
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)
        shift = own - largest
        factor = shift.exp()
        normalizer, weighted = factor * normalizer, factor * (weighted + shift * normalizer)
    shared = torch.stack([normalizer, weighted, (chosen - largest).masked_fill(~is_here, 0.0)])
    if group.size() > 1:
        # Added up, not compared: a sum keeps a NaN.
        dist.all_reduce(shared, group=group)
    normalizer, weighted, distance = shared
    log_normalizer = normalizer.log()
    return distance - log_normalizer, log_normalizer - weighted / normalizer, largest + log_normalizer


def _of_logits(
    log_probs: Tensor,
    entropy: Tensor,
    here: Tensor,
    is_here: Tensor,
    of_log_prob: Tensor | None,
    of_entropy: Tensor | None,
) -> Tensor:
    """The gradient by a chunk's logits, [C, V]; `log_probs` [C, V] is overwritten, the others are [C]."""
    if of_entropy is None:
        # In place, and nothing but what log p needs: this is the hot loop of most losses.
        gradient = log_probs.exp_()
        assert of_log_prob is not None
        gradient *= -of_log_prob[:, None]
    else:
        probs = log_probs.exp()
        per_prob = log_probs.add_(entropy[:, None]).mul_(-of_entropy[:, None])
        if of_log_prob is not None:
            per_prob -= of_log_prob[:, None]
        gradient = probs.mul_(per_prob)
    if of_log_prob is not None:
        gradient.scatter_add_(1, here[:, None], (of_log_prob * is_here)[:, None])
    return gradient


def _scaled(logits: Tensor, offset: Tensor, temperature: float) -> Tensor:
    """[C, V] logits / temperature − offset; a new tensor."""
    if temperature == 1.0:
        return logits - offset[:, None]
    return torch.div(logits, temperature).sub_(offset[:, None])


def _chunks(num_tokens: int, chunk_tokens: int) -> Iterator[slice]:
    return (slice(first, first + chunk_tokens) for first in range(0, num_tokens, chunk_tokens))
