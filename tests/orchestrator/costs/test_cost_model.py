from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.costs.cost_model import CostModel

SHAPE = {
    "num_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 4,
    "num_query_groups": 2,
    "head_dim": 3,
    "ffn_hidden_size": 16,
    "vocab_size": 50,
}
CONFIG = {
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 3,
    "intermediate_size": 16,
    "vocab_size": 50,
}


def counted_flops(num_tokens: int) -> float:
    """Forward and backward of SHAPE, matrix by matrix: 2 · rows · inner · columns each."""

    def product(rows: float, inner: int, columns: int) -> float:
        return 2 * rows * inner * columns

    queries, keys = 4 * 3, 2 * 3
    layer = (
        product(num_tokens, 8, queries)
        + 2 * product(num_tokens, 8, keys)
        + product(num_tokens, queries, 8)
        + 3 * product(num_tokens, 8, 16)
        # Scores and weighted values of four heads; a token sees half of the others on average.
        + 2 * 4 * product(num_tokens / 2, 3, num_tokens)
    )
    return 3 * (2 * layer + product(num_tokens, 8, 50))


@pytest.mark.parametrize("num_tokens", [1, 2, 17, 1000])
def test_counts_the_matrix_products_of_the_model(num_tokens: int) -> None:
    assert CostModel.from_shape(**SHAPE).cost(num_tokens) == counted_flops(num_tokens)


def test_reads_the_shape_from_a_hugging_face_config() -> None:
    assert CostModel.from_hf_config(CONFIG) == CostModel.from_shape(**SHAPE)


def test_what_a_config_leaves_out_follows_from_the_heads() -> None:
    config = {name: value for name, value in CONFIG.items() if name not in ("num_key_value_heads", "head_dim")}
    expected = CostModel.from_shape(**{**SHAPE, "num_query_groups": 4, "head_dim": 2})
    assert CostModel.from_hf_config(config) == expected


def test_names_the_size_that_a_config_lacks() -> None:
    config = {name: value for name, value in CONFIG.items() if name != "vocab_size"}
    with pytest.raises(ValueError, match="vocab_size=None"):
        CostModel.from_hf_config(config)


@pytest.mark.parametrize(("linear", "quadratic"), [(0, 0), (-1, 1), (1, -1), (math.nan, 1)])
def test_a_model_without_positive_cost_is_refused(linear: float, quadratic: float) -> None:
    with pytest.raises(ValueError, match="must be at least 0"):
        CostModel(linear=linear, quadratic=quadratic)


@given(st.lists(st.integers(1, 100_000), min_size=1), st.sampled_from([(1.0, 0.0), (0.0, 1.0), (3e9, 7e4)]))
def test_many_costs_are_the_costs_one_by_one_and_grow_with_length(
    lengths: list[int], parts: tuple[float, float]
) -> None:
    model = CostModel(linear=parts[0], quadratic=parts[1])
    assert model.costs(lengths).tolist() == pytest.approx([model.cost(length) for length in lengths], rel=1e-15)
    assert all(model.cost(length) < model.cost(length + 1) for length in lengths)


def test_context_parallel_ranks_share_samples_but_no_overhead() -> None:
    model = CostModel(linear=8.0, quadratic=4.0, overhead=3.0)
    shared = model.per_context_parallel_rank(4)
    assert shared == CostModel(linear=2.0, quadratic=1.0, overhead=3.0)
    assert shared.cost(5) == model.cost(5) / 4


def test_an_overhead_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"overhead=-1\.0 must be at least 0"):
        CostModel(linear=1.0, quadratic=0.0, overhead=-1.0)
