"""Attention over a packed row in grids, by torch's SDPA: what a CPU runs.

Legend: R positions in this rank's row, A in the rows of all context-parallel ranks, P cells for queries and K for keys
in all grids (see `trainer/attention_grids.py`), N query heads, G key heads, D head size; B runs, Q and S widths of a
grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trainer.attention_grids import Grid, arrange_in_grids
from trainer.packed_layout import PackedLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTensors:
    """One grid, on the device."""

    num_runs: int  # B
    queries: slice
    keys: slice
    mask: Tensor | None  # [B, 1, Q, S], True where a query sees a key; None: each sees those up to itself


class GridAttention:
    """The attention of one micro-batch; made once for all layers."""

    def __init__(self, layout: PackedLayout, device: torch.device) -> None:
        plan = arrange_in_grids(layout)
        self._num_positions = layout.num_positions
        self._row_of_query = torch.from_numpy(plan.row_of_query).to(device)
        self._query_of_row = torch.from_numpy(plan.query_of_row).to(device)
        # Alone on the row, keys lie as queries do, and gathering them needs no scatter-add in backward.
        self._row_of_key = None if layout.is_whole else torch.from_numpy(plan.row_of_key).to(device)
        self._grids = []
        query, key = 0, 0
        for grid in plan.grids:
            queries = slice(query, query := query + len(grid.runs) * grid.num_queries)
            keys = slice(key, key := key + len(grid.runs) * grid.num_keys)
            self._grids.append(
                GridTensors(num_runs=len(grid.runs), queries=queries, keys=keys, mask=_mask(grid, device))
            )

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """[R, N, D], [A, G, D] twice → [R, N, D]; padding of the row is 0."""
        if not self._grids:
            return attend_to_nothing(query, key, value)
        queries = _to_grids(query, self._row_of_query, self._query_of_row)  # [P, N, D]
        keys, values = (self._keys_to_grids(tensor) for tensor in (key, value))  # [K, G, D]
        outputs = [_attend(grid, queries, keys, values) for grid in self._grids]
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)  # [P, N, D]
        return _to_row(output, self._query_of_row, self._num_positions)

    def _keys_to_grids(self, rows: Tensor) -> Tensor:
        if self._row_of_key is None:
            return _to_grids(rows, self._row_of_query, self._query_of_row)
        return rows.index_select(0, self._row_of_key)


def attend_to_nothing(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The output [R, N, D] of a row without tokens: zeros, of which keys and values have a gradient, zero as well.

    Other ranks do have tokens, and wait for this one where the gradients of gathered keys are added up.
    """
    return torch.zeros_like(query) + sum(tensor[:0].sum() for tensor in (query, key, value))


def _mask(grid: Grid, device: torch.device) -> Tensor | None:
    if grid.is_causal:
        return None
    firsts = torch.tensor([run.first for run in grid.runs], device=device)
    last_keys = firsts[:, None] + torch.arange(grid.num_queries, device=device)  # [B, Q]
    return (torch.arange(grid.num_keys, device=device) <= last_keys[:, :, None])[:, None]


def _attend(grid: GridTensors, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Padding stands behind its run, where causality hides it. Returns [B · Q, N, D]."""
    query, key, value = (
        cells[part].view(grid.num_runs, -1, *cells.shape[1:]).transpose(1, 2)
        for cells, part in ((queries, grid.queries), (keys, grid.keys), (values, grid.keys))
    )
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=grid.mask, is_causal=grid.mask is None, enable_gqa=True
    )
    return output.transpose(1, 2).flatten(0, 1)


def _to_grids(row: Tensor, row_of_cell: Tensor, cell_of_row: Tensor) -> Tensor:
    grids: Tensor = _RowToGrids.apply(row, row_of_cell, cell_of_row)  # type: ignore[no-untyped-call]
    return grids


def _to_row(grids: Tensor, cell_of_row: Tensor, num_positions: int) -> Tensor:
    row: Tensor = _GridsToRow.apply(grids, cell_of_row, num_positions)  # type: ignore[no-untyped-call]
    return row


class _RowToGrids(torch.autograd.Function):
    """Gather tokens into cells. Its gradient is a gather too, since padding receives none: no scatter-add."""

    @staticmethod
    def forward(ctx: Any, row: Tensor, row_of_cell: Tensor, cell_of_row: Tensor) -> Tensor:
        ctx.save_for_backward(cell_of_row)
        ctx.num_positions = row.shape[0]
        return row.index_select(0, row_of_cell)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (cell_of_row,) = ctx.saved_tensors
        return _padded(gradient.index_select(0, cell_of_row), ctx.num_positions), None, None


class _GridsToRow(torch.autograd.Function):
    """Gather cells back into the row; padding of the grids is left behind, so its gradient is zero."""

    @staticmethod
    def forward(ctx: Any, cells: Tensor, cell_of_row: Tensor, num_positions: int) -> Tensor:
        ctx.save_for_backward(cell_of_row)
        ctx.num_in_grids = cells.shape[0]
        return _padded(cells.index_select(0, cell_of_row), num_positions)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (cell_of_row,) = ctx.saved_tensors
        grids = gradient.new_zeros(ctx.num_in_grids, *gradient.shape[1:])
        return grids.index_copy_(0, cell_of_row, gradient[: cell_of_row.shape[0]]), None, None


def _padded(row: Tensor, num_positions: int) -> Tensor:
    """The row with zeros behind it, up to a number of positions."""
    missing = num_positions - row.shape[0]
    return torch.nn.functional.pad(row, (0, 0, 0, 0, 0, missing)) if missing else row
