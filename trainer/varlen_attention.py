"""Attention over a packed row by torch's variable-length kernel (FlashAttention): what CUDA runs.

No test of this repository has run it: it needs a GPU. What it computes is `trainer/grid_attention.py`'s result.

Legend: R positions in this rank's row, A in the rows of all context-parallel ranks, K keys of all runs one behind the
other, N query heads, G key heads, D head size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

from trainer.grid_attention import attend_to_nothing
from trainer.packed_layout import PackedLayout


class VarlenAttention:
    """The attention of one micro-batch; made once for all layers."""

    def __init__(self, layout: PackedLayout, device: torch.device, *, kernel: Callable[..., Any] = varlen_attn) -> None:
        """kernel: what a CPU has none of, so that a test can bring its own."""
        self._kernel = kernel
        num_queries = [run.num_tokens for run in layout.runs]
        num_keys = [run.end for run in layout.runs]
        self._num_tokens = int(layout.tokens.shape[0])
        self._query_bounds, self._key_bounds = (
            torch.tensor([0, *accumulate(counts)], dtype=torch.int32, device=device)
            for counts in (num_queries, num_keys)
        )
        self._most_queries, self._most_keys = max(num_queries, default=0), max(num_keys, default=0)
        # A row that holds every token has the keys of its runs where their queries are.
        self._row_of_key = None if layout.is_whole else _rows_of_keys(layout).to(device)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """[R, N, D], [A, G, D] twice → [R, N, D]; padding of the row is 0."""
        keys, values = (self._keys_of_runs(tensor) for tensor in (key, value))  # [K, G, D]
        if self._num_tokens == 0:
            return attend_to_nothing(query, key, value)
        # Causality is aligned to the end of each run: its last query sees all of the run's keys.
        attended = self._kernel(
            query[: self._num_tokens],
            keys,
            values,
            self._query_bounds,
            self._key_bounds,
            self._most_queries,
            self._most_keys,
            window_size=(-1, 0),
            enable_gqa=True,
        )
        return torch.cat([attended, torch.zeros_like(query[self._num_tokens :])])

    def _keys_of_runs(self, rows: Tensor) -> Tensor:
        return rows[: self._num_tokens] if self._row_of_key is None else rows.index_select(0, self._row_of_key)


def _rows_of_keys(layout: PackedLayout) -> Tensor:
    """[K]: for each run the positions of its sample's tokens up to the run's end."""
    parts = [np.arange(layout.starts[run.sample], layout.starts[run.sample] + run.end) for run in layout.runs]
    return torch.from_numpy(layout.position_of_token[np.concatenate(parts)] if parts else np.empty(0, dtype=np.int64))
