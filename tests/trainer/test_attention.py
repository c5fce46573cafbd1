from __future__ import annotations

import pytest
import torch

from trainer.attention import PackedAttention, packed_row_params
from trainer.packed_layout import lay_out

HEADS, GROUPS, DIM = 4, 2, 8


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


@pytest.mark.parametrize("lengths", [(1,), (7,), (3, 3, 3), (9, 1, 4, 2, 30, 8, 8), (1, 1, 25)])
def test_packed_attention_equals_the_plain_way_in_value_and_gradient(lengths):
    torch.manual_seed(0)
    total = sum(lengths)
    inputs = [torch.randn(total, heads, DIM, requires_grad=True) for heads in (HEADS, GROUPS, GROUPS)]
    params = packed_row_params(lay_out(lengths), torch.zeros(0, dtype=torch.long))
    output = PackedAttention()(*inputs, None, packed_seq_params=params)
    expected = plain_attention(*inputs, lengths)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
    upstream = torch.randn_like(output)
    found = torch.autograd.grad(output, inputs, upstream)
    wanted = torch.autograd.grad(expected, inputs, upstream)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_sample_is_blind_to_its_neighbours():
    torch.manual_seed(0)
    lengths = (5, 6, 4)
    params = packed_row_params(lay_out(lengths), torch.zeros(0, dtype=torch.long))
    query, key, value = (torch.randn(15, heads, DIM) for heads in (HEADS, GROUPS, GROUPS))
    before = PackedAttention()(query, key, value, None, packed_seq_params=params)
    for tensor in (query, key, value):
        tensor[5:11] = 1e6
    after = PackedAttention()(query, key, value, None, packed_seq_params=params)
    assert torch.equal(before[:5], after[:5])
    assert torch.equal(before[11:], after[11:])
