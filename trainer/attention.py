"""Causal attention over packed samples (THD, grouped queries): the core_attention of our Megatron layer spec.

Megatron's local DotProductAttention refuses packed sequences. This one is exact: a token attends to the tokens before
it in its own sample and to nothing else, whatever lies beside it in the row.

Legend: T tokens of the row, P places in the grids (see `trainer/packed_layout.py`), N query heads and G key heads of
this rank, D head size, B samples and S width of one grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from megatron.core.packed_seq_params import PackedSeqParams
from torch import Tensor

from trainer.packed_layout import PackedLayout, grid_offsets


@dataclass(kw_only=True)
class PackedRowParams(PackedSeqParams):  # type: ignore[misc]  # Megatron has no types
    """Megatron's PackedSeqParams, with what our RoPE, attention and output layer need beside it."""

    positions: Tensor  # [T]
    row_of_place: Tensor  # [P]
    place_of_row: Tensor  # [T]
    grids: tuple[tuple[int, int], ...]
    grid_offsets: tuple[int, ...]
    predicting_rows: Tensor  # [N]: rows whose next token is a loss token


def packed_row_params(layout: PackedLayout, predicting_rows: Tensor) -> PackedRowParams:
    """Move a layout to the device of `predicting_rows`, once per micro-batch and for all layers."""
    device = predicting_rows.device
    bounds = torch.tensor([0, layout.num_tokens], dtype=torch.int32, device=device)
    cu_seqlens = torch.tensor([0, *layout.lengths], dtype=torch.int32, device=device).cumsum(0, dtype=torch.int32)
    return PackedRowParams(
        qkv_format="thd",
        cu_seqlens_q=cu_seqlens,
        cu_seqlens_kv=cu_seqlens,
        # Megatron's RoPE loops over these. `PackedGPTModel` hands it frequencies per token of the row, for which the
        # row is one sequence: without this it would cut the frequencies apart for each sample, twice per layer.
        cu_seqlens_q_padded=bounds,
        cu_seqlens_kv_padded=bounds,
        max_seqlen_q=layout.max_length,
        max_seqlen_kv=layout.max_length,
        positions=torch.from_numpy(layout.positions).to(device),
        row_of_place=torch.from_numpy(layout.row_of_place).to(device),
        place_of_row=torch.from_numpy(layout.place_of_row).to(device),
        grids=layout.grids,
        grid_offsets=tuple(grid_offsets(layout)),
        predicting_rows=predicting_rows,
    )


class PackedAttention(torch.nn.Module):
    """Built by Megatron's SelfAttention through the layer spec; holds no weights."""

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def forward(
        self,
        query: Tensor,  # [T, N, D]
        key: Tensor,  # [T, G, D]
        value: Tensor,  # [T, G, D]
        attention_mask: Tensor | None,
        /,
        *,
        packed_seq_params: PackedRowParams,
        **_: Any,
    ) -> Tensor:
        """Returns [T, N, D]."""
        assert attention_mask is None, "the layout alone says who attends to whom"
        params = packed_seq_params
        rows, places = params.row_of_place, params.place_of_row
        in_grids = [_to_grids(tensor, rows, places) for tensor in (query, key, value)]  # [P, N or G, D]
        outputs = [
            _attend(*(tensor[first:end].view(*grid, *tensor.shape[1:]) for tensor in in_grids)).flatten(0, 1)
            for grid, first, end in zip(params.grids, params.grid_offsets, params.grid_offsets[1:], strict=False)
        ]
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)  # [P, N, D]
        return _to_row(output, places)


def _attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """[B, S, N, D], [B, S, G, D] twice → [B, S, N, D]. Padding stands behind its sample, where causality hides it."""
    output = torch.nn.functional.scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), is_causal=True, enable_gqa=True
    )
    return output.transpose(1, 2)


def _to_grids(row: Tensor, row_of_place: Tensor, place_of_row: Tensor) -> Tensor:
    grids: Tensor = _RowToGrids.apply(row, row_of_place, place_of_row)  # type: ignore[no-untyped-call]
    return grids


def _to_row(grids: Tensor, place_of_row: Tensor) -> Tensor:
    row: Tensor = _GridsToRow.apply(grids, place_of_row)  # type: ignore[no-untyped-call]
    return row


class _RowToGrids(torch.autograd.Function):
    """Gather tokens into places. Its gradient is a gather too, since padding receives none: no scatter-add."""

    @staticmethod
    def forward(ctx: Any, row: Tensor, row_of_place: Tensor, place_of_row: Tensor) -> Tensor:
        ctx.save_for_backward(place_of_row)
        return row.index_select(0, row_of_place)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (place_of_row,) = ctx.saved_tensors
        return gradient.index_select(0, place_of_row), None, None


class _GridsToRow(torch.autograd.Function):
    """Gather places back into the row; padding is left behind, so its gradient is zero."""

    @staticmethod
    def forward(ctx: Any, places: Tensor, place_of_row: Tensor) -> Tensor:
        ctx.save_for_backward(place_of_row)
        ctx.num_places = places.shape[0]
        return places.index_select(0, place_of_row)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (place_of_row,) = ctx.saved_tensors
        grids = gradient.new_zeros(ctx.num_places, *gradient.shape[1:])
        return grids.index_copy_(0, place_of_row, gradient), None
