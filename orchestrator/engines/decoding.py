"""Batched generation with a key-value cache over a transformers causal language model. Runs inside an engine's process.

    different prompts ─ one forward ─► cache, repeated for the rollouts of each group ─► token by token; a sequence that
    has finished leaves the batch

Legend: B sequences of a batch, P different prompts in it, S positions (prompts are padded on the left), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

_MAX_BATCH = 256
"""Sequences decoded together: enough to fill a core, few enough for its caches."""
_COMPACT_BELOW = 0.75
"""A batch is compacted when a smaller share of it is still going: copying the cache costs about as much as a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What was drawn for one sequence, the end-of-sequence token included when it came."""

    token_ids: npt.NDArray[np.int64]  # [R]
    log_probs: npt.NDArray[np.float32]  # [R]


@torch.inference_mode()
def decode(
    model: PreTrainedModel,
    prompts: Sequence[tuple[int, ...]],
    uniforms: npt.NDArray[np.float64],
    *,
    temperature: float,
    eos_id: int,
    pad_id: int,
) -> list[Decoded]:
    """Continue each prompt until `eos_id`, by at most as many tokens as `uniforms` has columns.

    uniforms: [len(prompts), max_new_tokens] in [0, 1). Token t of sequence i is the first whose cumulated probability
        exceeds uniforms[i, t]: what is drawn for a sequence does not depend on the others.
    temperature: 0 takes the likeliest token; its log-prob is then the one at temperature 1.
    """
    decoded: list[Decoded | None] = [None] * len(prompts)
    for batch in _batches(prompts):
        sequences = _Sequences(model, [prompts[i] for i in batch], temperature=temperature, pad_id=pad_id)
        for i, result in zip(batch, sequences.decode(uniforms[batch], eos_id), strict=True):
            decoded[i] = result
    return [result for result in decoded if result is not None]


def draw(logits: Tensor, uniforms: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """The next token of each sequence and its log-prob in the distribution that it was drawn from.

    logits [B, V], uniforms [B] → token_ids [B], log_probs [B]
    """
    log_probs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0:
        token_ids = log_probs.argmax(-1)
    else:
        # In float64: in float32 the sum over a large vocabulary is off by more than many a token's probability.
        cumulated = log_probs.double().exp().cumsum(-1)
        token_ids = torch.searchsorted(cumulated, (uniforms * cumulated[:, -1]).unsqueeze(-1), right=True).squeeze(-1)
    return token_ids, log_probs.gather(-1, token_ids.unsqueeze(-1)).squeeze(-1)


def _batches(prompts: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of prompts by length, so that little is padded, and equal ones together, so that they are read once."""
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), prompts[i]))
    count = -(-len(order) // _MAX_BATCH)
    for k in range(count):
        yield order[k * len(order) // count : (k + 1) * len(order) // count]


class _Sequences:
    """A batch under way. Rows leave when their sequence has ended; `_origin` says where in the batch they began."""

    def __init__(
        self, model: PreTrainedModel, prompts: Sequence[tuple[int, ...]], *, temperature: float, pad_id: int
    ) -> None:
        self._model = model
        self._temperature = temperature
        self._cache = DynamicCache(config=model.config)
        distinct = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        token_ids, mask = _left_padded(list(distinct), pad_id)
        logits = self._forward(token_ids, mask, (mask.cumsum(-1) - 1).clamp_min(0))
        self._positions = mask.sum(-1, keepdim=True)
        self._bias = torch.zeros(mask.shape).masked_fill(mask == 0, float("-inf"))[:, None, None]
        self._origin = torch.arange(len(prompts))
        self._logits = logits[(rows := torch.tensor([distinct[prompt] for prompt in prompts]))]
        self._keep_rows(rows)

    def decode(self, uniforms: npt.NDArray[np.float64], eos_id: int) -> list[Decoded]:
        """Draw until every sequence has ended; uniforms are [B, max_new_tokens]."""
        num_sequences, max_new_tokens = uniforms.shape
        chances = torch.from_numpy(uniforms)
        tokens = torch.zeros(num_sequences, max_new_tokens, dtype=torch.int64)
        log_probs = torch.zeros(num_sequences, max_new_tokens)
        lengths = torch.zeros(num_sequences, dtype=torch.int64)
        going = torch.ones(num_sequences, dtype=torch.bool)
        for t in range(max_new_tokens):
            drawn, drawn_log_probs = draw(self._logits, chances[self._origin, t], self._temperature)
            tokens[self._origin, t], log_probs[self._origin, t] = drawn, drawn_log_probs
            lengths[self._origin[going]] = t + 1
            going &= drawn != eos_id
            if t + 1 == max_new_tokens or not going.any():
                break
            if going.float().mean() < _COMPACT_BELOW:
                drawn, self._origin = drawn[going], self._origin[going]
                self._keep_rows(going.nonzero().squeeze(-1))
                going = going[going]
            self._step(drawn)
        return [
            Decoded(token_ids=tokens[i, :length].numpy(), log_probs=log_probs[i, :length].numpy())
            for i, length in enumerate(lengths.tolist())
        ]

    def _step(self, token_ids: Tensor) -> None:
        # What attention adds to its scores, [B, 1, 1, S]: transformers would make it anew of a mask for every token.
        self._bias = pad(self._bias, (0, 1))
        self._logits = self._forward(token_ids.unsqueeze(-1), self._bias, self._positions)
        self._positions = self._positions + 1

    def _forward(self, token_ids: Tensor, mask: Tensor, position_ids: Tensor) -> Tensor:
        """Read on by [B, S] tokens; returns logits [B, V] of what follows."""
        output = self._model(
            input_ids=token_ids,
            attention_mask=mask,
            position_ids=position_ids,
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1]
        return logits

    def _keep_rows(self, rows: Tensor) -> None:
        self._cache.batch_select_indices(rows)
        self._bias, self._positions = self._bias[rows], self._positions[rows]


def _left_padded(prompts: Sequence[tuple[int, ...]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Token ids and mask, both [P, S]: on the left, so that all sequences go on at the same position of the cache."""
    longest = max(len(prompt) for prompt in prompts)
    token_ids = torch.full((len(prompts), longest), pad_id, dtype=torch.int64)
    mask = torch.zeros(len(prompts), longest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        token_ids[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    return token_ids, mask
