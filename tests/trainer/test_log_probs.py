"""One rank's part; that the parts of several ranks add up is shown by the gradients of tp = 2 in the stack tests."""

from __future__ import annotations

import pytest
import torch

from trainer.log_probs import vocab_parallel_log_probs
from trainer.rank import MegatronRank


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probs_entropy_and_gradient_equal_log_softmax(lone_rank: MegatronRank, temperature):
    torch.manual_seed(0)
    logits = (3 * torch.randn(6, 11)).requires_grad_()
    targets = torch.randint(0, 11, (6,))
    found, entropy = vocab_parallel_log_probs(
        logits, targets, vocab_size=11, temperature=temperature, group=torch.distributed.group.WORLD
    )
    rows = torch.log_softmax(logits / temperature, dim=-1)
    wanted = rows.gather(1, targets[:, None]).squeeze(1)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(entropy, -(rows.exp() * rows).sum(-1).detach())
    assert not entropy.requires_grad
    upstream = torch.randn(6)
    torch.testing.assert_close(
        *(torch.autograd.grad(side, logits, upstream, retain_graph=True)[0] for side in (found, wanted))
    )


def test_vocabulary_padding_has_no_probability_and_no_gradient(lone_rank: MegatronRank):
    torch.manual_seed(0)
    logits = torch.randn(4, 8)
    logits[:, 6:] = 50.0
    logits.requires_grad_()
    targets = torch.tensor([0, 1, 2, 5])
    found, _ = vocab_parallel_log_probs(
        logits, targets, vocab_size=6, temperature=1.0, group=torch.distributed.group.WORLD
    )
    wanted = torch.log_softmax(logits[:, :6], dim=-1).gather(1, targets[:, None]).squeeze(1)
    torch.testing.assert_close(found, wanted)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert gradient[:, 6:].count_nonzero() == 0


def test_no_tokens_give_no_values_and_a_zero_gradient(lone_rank: MegatronRank):
    logits = torch.randn(0, 8, requires_grad=True)
    found, entropy = vocab_parallel_log_probs(
        logits,
        torch.zeros(0, dtype=torch.long),
        vocab_size=8,
        temperature=1.0,
        group=torch.distributed.group.WORLD,
    )
    assert found.shape == entropy.shape == (0,)
    assert torch.autograd.grad(found.sum(), logits)[0].shape == (0, 8)
