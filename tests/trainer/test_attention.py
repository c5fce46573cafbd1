from __future__ import annotations

import pytest
import torch

from trainer.grid_attention import GridAttention
from trainer.packed_layout import lay_out
from trainer.varlen_attention import VarlenAttention

HEADS, GROUPS, DIM = 4, 2, 8
CPU = torch.device("cpu")
LENGTHS = [(1,), (7,), (3, 3, 3), (9, 1, 4, 2, 30, 8, 8), (1, 1, 25)]


def plain_attention(query, key, value, lengths):
    """[T, N, D]: one sample, one head, one query at a time."""
    outputs, start = [], 0
    for length in lengths:
        for t in range(start, start + length):
            heads = []
            for head in range(HEADS):
                group = head // (HEADS // GROUPS)
                scores = key[start : t + 1, group] @ query[t, head] / DIM**0.5
                heads.append(scores.softmax(0) @ value[start : t + 1, group])
            outputs.append(torch.stack(heads))
        start += length
    return torch.stack(outputs)


def plain_varlen(query, key, value, query_bounds, key_bounds, most_queries, most_keys, *, window_size, enable_gqa):
    """What torch's varlen_attn documents: causal, aligned to the end of each sequence."""
    assert window_size == (-1, 0)
    assert enable_gqa
    outputs = []
    for i in range(len(query_bounds) - 1):
        queries = query[query_bounds[i] : query_bounds[i + 1]]
        keys, values = (tensor[key_bounds[i] : key_bounds[i + 1]] for tensor in (key, value))
        assert len(queries) <= most_queries
        assert len(keys) <= most_keys
        first = len(keys) - len(queries)
        for t in range(len(queries)):
            seen = first + t + 1
            for_heads = [
                (keys[:seen, head // (HEADS // GROUPS)] @ queries[t, head] / DIM**0.5).softmax(0)
                @ values[:seen, head // (HEADS // GROUPS)]
                for head in range(HEADS)
            ]
            outputs.append(torch.stack(for_heads))
    return torch.stack(outputs)


def varlen(layout, device):
    return VarlenAttention(layout, device, kernel=plain_varlen)


def of_ranks(attention, inputs, lengths, *, cp_size, multiple):
    """[T, N, D]: what the ranks find for their own rows, each with the keys and values of all of them."""
    layouts = [lay_out(lengths, cp_size=cp_size, cp_rank=rank, multiple=multiple) for rank in range(cp_size)]
    size = layouts[0].num_positions
    rows = [tensor.new_zeros(cp_size * size, *tensor.shape[1:]) for tensor in inputs]
    for tensor, row in zip(inputs, rows, strict=True):
        row[layouts[0].position_of_token] = tensor
    query, key, value = rows
    outputs = [
        attention(layout, CPU)(query[rank * size : (rank + 1) * size], key, value)
        for rank, layout in enumerate(layouts)
    ]
    return torch.cat(outputs)[layouts[0].position_of_token]


@pytest.mark.parametrize("attention", [GridAttention, varlen], ids=["grids", "varlen"])
@pytest.mark.parametrize(("cp_size", "multiple"), [(1, 1), (1, 4), (2, 1), (3, 2), (4, 1)])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_packed_attention_equals_the_plain_way_in_value_and_gradient(lengths, cp_size, multiple, attention):
    torch.manual_seed(0)
    total = sum(lengths)
    inputs = [torch.randn(total, heads, DIM, requires_grad=True) for heads in (HEADS, GROUPS, GROUPS)]
    output = of_ranks(attention, inputs, lengths, cp_size=cp_size, multiple=multiple)
    expected = plain_attention(*inputs, lengths)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
    weights = torch.randn_like(output)
    found = torch.autograd.grad((output * weights).sum(), inputs)
    wanted = torch.autograd.grad((expected * weights).sum(), inputs)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_rank_without_tokens_has_zeros_and_takes_part_in_the_gradients():
    layout = lay_out([1], cp_size=2, cp_rank=1)
    assert layout.runs == ()
    query, key, value = (torch.randn(rows, heads, DIM, requires_grad=True) for rows, heads in ((1, 4), (2, 2), (2, 2)))
    output = GridAttention(layout, CPU)(query, key, value)
    assert output.count_nonzero() == 0
    for gradient in torch.autograd.grad(output.sum(), [query, key, value]):
        assert gradient.count_nonzero() == 0
