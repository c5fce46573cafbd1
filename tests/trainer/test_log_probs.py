from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from trainer.log_probs import vocab_parallel_log_probs
from trainer.rank import MegatronRank


def plain(logits: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    rows = torch.log_softmax(logits / temperature, dim=-1)
    return rows.gather(1, targets[:, None]).squeeze(1), -(rows.exp() * rows).sum(-1)


def gradient(results: tuple[Tensor, Tensor], logits: Tensor, upstream: Tensor) -> Tensor:
    """Of Σ upstream₀·log_prob + upstream₁·entropy."""
    return torch.autograd.grad((torch.stack(results) * upstream).sum(), logits, retain_graph=True)[0]


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("max_chunk_elements", [1, 25, 10_000])
def test_log_probs_entropy_and_gradients_equal_log_softmax(
    lone_rank: MegatronRank, temperature: float, max_chunk_elements: int
) -> None:
    torch.manual_seed(0)
    logits = (3 * torch.randn(6, 11)).requires_grad_()
    targets = torch.randint(0, 11, (6,))
    found = vocab_parallel_log_probs(
        logits,
        targets,
        vocab_size=11,
        temperature=temperature,
        group=dist.group.WORLD,
        max_chunk_elements=max_chunk_elements,
    )
    wanted = plain(logits, targets, temperature)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    for upstream in (torch.randn(2, 6), torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [1.0]])):
        torch.testing.assert_close(
            gradient(found, logits, upstream), gradient(wanted, logits, upstream), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("used", [0, 1])
def test_either_result_has_its_gradient_alone(lone_rank: MegatronRank, used: int) -> None:
    torch.manual_seed(1)
    logits = torch.randn(5, 7, requires_grad=True)
    targets = torch.randint(0, 7, (5,))
    found = vocab_parallel_log_probs(logits, targets, vocab_size=7, temperature=1.0, group=dist.group.WORLD)
    sides = (found, plain(logits, targets, 1.0))
    torch.testing.assert_close(*(torch.autograd.grad(side[used].sum(), logits)[0] for side in sides))


def test_logits_in_half_precision_are_worked_off_in_single(lone_rank: MegatronRank) -> None:
    torch.manual_seed(2)
    logits = torch.randn(5, 7).bfloat16().requires_grad_()
    targets = torch.randint(0, 7, (5,))
    found = vocab_parallel_log_probs(logits, targets, vocab_size=7, temperature=0.5, group=dist.group.WORLD)
    wanted = plain(logits.float(), targets, 0.5)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    assert gradient(found, logits, torch.ones(2, 5)).dtype == torch.bfloat16


def test_vocabulary_padding_has_no_probability_and_no_gradient(lone_rank: MegatronRank) -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 8)
    logits[:, 6:] = 50.0
    logits.requires_grad_()
    targets = torch.tensor([0, 1, 2, 5])
    found = vocab_parallel_log_probs(logits, targets, vocab_size=6, temperature=1.0, group=dist.group.WORLD)
    torch.testing.assert_close(found, plain(logits[:, :6], targets, 1.0))
    assert gradient(found, logits, torch.ones(2, 4))[:, 6:].count_nonzero() == 0


def test_no_tokens_give_no_values_and_a_zero_gradient(lone_rank: MegatronRank) -> None:
    logits = torch.randn(0, 8, requires_grad=True)
    found = vocab_parallel_log_probs(
        logits, torch.zeros(0, dtype=torch.long), vocab_size=8, temperature=1.0, group=dist.group.WORLD
    )
    assert [side.shape for side in found] == [(0,), (0,)]
    assert gradient(found, logits, torch.ones(2, 0)).shape == (0, 8)


class Made(TorchDispatchMode):
    """Sizes of the tensors that operations make; views of others make none."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        there = {leaf.data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        self.sizes += [
            leaf.numel()
            for leaf in tree_leaves(result)
            if isinstance(leaf, Tensor) and leaf._base is None and leaf.data_ptr() not in there
        ]
        return result


def test_no_tensor_is_larger_than_a_chunk_but_the_gradient(lone_rank: MegatronRank) -> None:
    num_tokens, vocab, chunk = 256, 512, 8 * 512
    logits = torch.randn(num_tokens, vocab, requires_grad=True)
    targets = torch.randint(0, vocab, (num_tokens,))
    with Made() as forward:
        found = vocab_parallel_log_probs(
            logits,
            targets,
            vocab_size=vocab,
            temperature=0.7,
            group=dist.group.WORLD,
            max_chunk_elements=chunk,
        )
    assert max(forward.sizes) == chunk
    weighted = (torch.stack(found) * torch.randn(2, num_tokens)).sum()
    with Made() as backward:
        weighted.backward()
    assert sum(size > chunk for size in backward.sizes) == 1
    assert max(backward.sizes) == num_tokens * vocab
    with Made() as plainly:
        plain(logits, targets, 0.7)
    assert max(plainly.sizes) == num_tokens * vocab


VOCAB_SIZE, TP = 11, 2
COLUMNS = 6
"""Of each of the two ranks: the last one of the second is padding."""


def tp_rank(rank: int, directory: str) -> None:
    """One of two ranks: its columns' results and gradient go to a file."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{directory}/store", TP)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=TP)
    whole, targets, upstream = torch.load(f"{directory}/given.pt")
    mine = whole[:, rank * COLUMNS : (rank + 1) * COLUMNS].clone().requires_grad_()
    found = vocab_parallel_log_probs(
        mine, targets, vocab_size=VOCAB_SIZE, temperature=0.8, group=dist.group.WORLD, max_chunk_elements=13
    )
    torch.save((*(side.detach() for side in found), gradient(found, mine, upstream)), f"{directory}/rank{rank}.pt")
    dist.destroy_process_group()


def test_two_tensor_parallel_ranks_equal_one(tmp_path: Path) -> None:
    torch.manual_seed(3)
    whole = 3 * torch.randn(9, TP * COLUMNS)
    targets, upstream = torch.randint(0, VOCAB_SIZE, (9,)), torch.randn(2, 9)
    torch.save((whole, targets, upstream), tmp_path / "given.pt")
    mp.spawn(tp_rank, args=(str(tmp_path),), nprocs=TP)
    logits = whole[:, :VOCAB_SIZE].clone().requires_grad_()
    wanted = plain(logits, targets, 0.8)
    ranks = [torch.load(tmp_path / f"rank{rank}.pt") for rank in range(TP)]
    for log_probs, entropy, _ in ranks:
        torch.testing.assert_close((log_probs, entropy), wanted, rtol=1e-6, atol=1e-6)
    found = torch.cat([part for *_, part in ranks], dim=1)
    torch.testing.assert_close(found[:, :VOCAB_SIZE], gradient(wanted, logits, upstream), rtol=1e-5, atol=1e-6)
    assert found[:, VOCAB_SIZE:].count_nonzero() == 0
