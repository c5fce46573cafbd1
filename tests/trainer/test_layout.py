from __future__ import annotations

from dataclasses import replace

import pytest

from tests.trainer import factories
from trainer.architecture import Architecture
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.layout import RankLayout, check_layout

SCRATCH = Architecture.from_scratch(factories.model_spec())


def test_ranks_are_numbered_as_megatron_does():
    layout = RankLayout(dp=2, tp=2, pp=2)
    assert layout.world_size == 8
    assert [layout.dp_rank(rank) for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert layout.ranks_of(dp_rank=1) == [2, 3, 6, 7]
    assert layout.rank(dp_rank=1, tp_rank=1, pp_rank=1) == 7
    assert RankLayout.of(ParallelismSpec(dp=3, pp=2, cp=2)) == RankLayout(dp=3, tp=1, pp=2, cp=2)


def test_context_parallel_ranks_lie_between_tensor_and_data_parallel_ones():
    layout = RankLayout(dp=2, tp=2, cp=2)
    assert [layout.cp_rank(rank) for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert layout.ranks_of(dp_rank=1) == [4, 5, 6, 7]
    assert layout.rank(dp_rank=1, cp_rank=1) == 6
    assert layout.first_copy == [0, 1]


@pytest.mark.parametrize(
    ("parallelism", "told"),
    [
        ({"tp": 3}, "num_attention_heads=4"),
        ({"tp": 4}, "num_query_groups=2"),
        ({"pp": 3}, "num_layers=2"),
        ({"pp": 2, "vpp": 2}, r"parallelism\.pp × parallelism\.vpp=4 does not divide model\.num_layers=2"),
    ],
)
def test_layout_that_does_not_divide_the_model_is_refused(parallelism, told):
    with pytest.raises(ValueError, match=told):
        check_layout(SCRATCH, ParallelismSpec(**parallelism))
    check_layout(replace(SCRATCH, num_layers=6), ParallelismSpec(pp=3, tp=2))
