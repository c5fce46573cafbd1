"""Which rank is where, in Megatron's order: tensor-parallel ranks first, then context, data-parallel, stages. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from trainer.architecture import Architecture
from trainer.contracts.parallelism_spec import ParallelismSpec, layout_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLayout:
    """dp × tp × pp × cp ranks. With dp = 2 and tp = 2, ranks 0 and 1 share the first copy of the model, 2 and 3 the
    second.

    >>> RankLayout(dp=2, tp=2).ranks_of(dp_rank=1)
    [2, 3]
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1

    @classmethod
    def of(cls, parallelism: ParallelismSpec) -> Self:
        """The axes of a spec that place ranks; vpp and the rest place none."""
        return cls(dp=parallelism.dp, tp=parallelism.tp, pp=parallelism.pp, cp=parallelism.cp)

    @property
    def world_size(self) -> int:
        return self.dp * self.tp * self.pp * self.cp

    def rank(self, *, dp_rank: int = 0, tp_rank: int = 0, pp_rank: int = 0, cp_rank: int = 0) -> int:
        """The rank, counted over the world, that stands there on each axis."""
        return tp_rank + self.tp * (cp_rank + self.cp * (dp_rank + self.dp * pp_rank))

    def cp_rank(self, rank: int) -> int:
        """Where a rank of the world stands among those that share its samples' tokens."""
        return rank // self.tp % self.cp

    def dp_rank(self, rank: int) -> int:
        """Which copy of the model a rank of the world is of."""
        return rank // (self.tp * self.cp) % self.dp

    def ranks_of(self, *, dp_rank: int) -> list[int]:
        """All ranks that train the samples of one dp_rank."""
        return [rank for rank in range(self.world_size) if self.dp_rank(rank) == dp_rank]

    @property
    def first_copy(self) -> list[int]:
        """The ranks that together hold every weight once."""
        return [rank for rank in self.ranks_of(dp_rank=0) if self.cp_rank(rank) == 0]


def check_layout(architecture: Architecture, parallelism: ParallelismSpec) -> None:
    """Refuse a layout that cannot hold the model.

    Raises:
        ValueError: an axis does not divide what it splits; all problems are named.
    """
    problems = [problem.message for problem in layout_problems(architecture, parallelism)]
    if problems:
        raise ValueError(f"{'; '.join(problems)}; change parallelism")
