"""Causal attention over packed samples (THD, grouped queries): the core_attention of our Megatron layer spec.

Megatron's local DotProductAttention refuses packed sequences and context parallelism. This one is exact: a token
attends to the tokens before it in its own sample and to nothing else, whatever lies beside it in the row and whichever
rank holds them. Keys and values are gathered from all context-parallel ranks; in backward their gradients are summed
over the ranks and scattered back.

Legend: R positions in this rank's row, A in the rows of all context-parallel ranks, N query heads and G key heads of
this rank, D head size, n loss tokens of this rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from megatron.core.packed_seq_params import PackedSeqParams
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.tensor_parallel.mappings import gather_from_sequence_parallel_region
from torch import Tensor

from trainer.rotary import Rotation, rotate

AttendToRow = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries [R, N, D], keys and values [A, G, D] → [R, N, D]; made for one micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the output layer is asked: log p of these tokens, each where the token before it stands."""

    token_ids: Tensor  # [n]: this rank's loss tokens
    predicting_rows: Tensor  # [n]: positions of the row whose next token they are
    temperature: float
    """What the logits are divided by before the softmax."""


@dataclass(kw_only=True)
class PackedRowParams(PackedSeqParams):  # type: ignore[misc]  # Megatron has no types
    """Megatron's PackedSeqParams, with what our attention and output layer need instead of its bounds."""

    attend: AttendToRow
    position_ids: Tensor  # [R]: where each token stands within its sample
    targets: Targets
    rotation: Rotation | None = None
    """Set by the model, once for all its layers."""


def packed_row_params(attend: AttendToRow, *, position_ids: Tensor, targets: Targets) -> PackedRowParams:
    """What one micro-batch passes through Megatron's layers. position_ids: [R]."""
    return PackedRowParams(qkv_format="thd", attend=attend, position_ids=position_ids, targets=targets)


class PackedAttention(torch.nn.Module):
    """Built by Megatron's SelfAttention through the layer spec; holds no weights."""

    def __init__(self, *, pg_collection: ProcessGroupCollection, **_: Any) -> None:
        super().__init__()
        self._cp_group = pg_collection.cp

    def forward(
        self,
        query: Tensor,  # [R, N, D]
        key: Tensor,  # [R, G, D]
        value: Tensor,  # [R, G, D]
        attention_mask: Tensor | None,
        /,
        *,
        packed_seq_params: PackedRowParams,
        **_: Any,
    ) -> Tensor:
        """Returns [R, N, D]."""
        assert attention_mask is None, "the layout alone says who attends to whom"
        assert packed_seq_params.rotation is not None, "the model rotates before its first layer"
        query, key = (rotate(heads, packed_seq_params.rotation) for heads in (query, key))
        if self._cp_group.size() > 1:
            # One message for both.
            gathered = gather_from_sequence_parallel_region(torch.cat((key, value), dim=1), group=self._cp_group)
            key, value = gathered.chunk(2, dim=1)
        return packed_seq_params.attend(query, key, value)
