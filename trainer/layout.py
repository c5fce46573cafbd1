"""Which rank is where, in Megatron's order: tensor-parallel ranks first, then data-parallel, then stages. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from trainer.architecture import Architecture
from trainer.contracts.parallelism_spec import ParallelismSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLayout:
    """dp × tp × pp ranks. With dp = 2 and tp = 2, ranks 0 and 1 share the first copy of the model, 2 and 3 the second.

    >>> RankLayout(dp=2, tp=2, pp=1).ranks_of(dp_rank=1)
    [2, 3]
    """

    dp: int
    tp: int
    pp: int

    @classmethod
    def of(cls, parallelism: ParallelismSpec) -> Self:
        return cls(dp=parallelism.dp, tp=parallelism.tp, pp=parallelism.pp)

    @property
    def world_size(self) -> int:
        return self.dp * self.tp * self.pp

    def rank(self, *, dp_rank: int = 0, tp_rank: int = 0, pp_rank: int = 0) -> int:
        return tp_rank + self.tp * (dp_rank + self.dp * pp_rank)

    def dp_rank(self, rank: int) -> int:
        return rank // self.tp % self.dp

    def ranks_of(self, *, dp_rank: int) -> list[int]:
        """All ranks that hold a part of one copy of the model."""
        return [rank for rank in range(self.world_size) if self.dp_rank(rank) == dp_rank]


def check_layout(architecture: Architecture, parallelism: ParallelismSpec) -> None:
    """Refuse a layout that cannot hold the model.

    Raises:
        ValueError: an axis does not divide what it splits.
    """
    for axis, size, field, count in (
        ("tp", parallelism.tp, "num_attention_heads", architecture.num_attention_heads),
        ("tp", parallelism.tp, "num_query_groups", architecture.num_query_groups),
        ("tp", parallelism.tp, "ffn_hidden_size", architecture.ffn_hidden_size),
        ("pp", parallelism.pp, "num_layers", architecture.num_layers),
    ):
        if count % size:
            raise ValueError(f"parallelism.{axis}={size} does not divide the model's {field}={count}; lower it")
