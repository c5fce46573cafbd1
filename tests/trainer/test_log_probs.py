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


def from_logits(logits: Tensor, targets: Tensor, **settings: Any) -> tuple[Tensor, Tensor]:
    """With the identity for an output layer, hidden states are the logits."""
    settings = {"vocab_size": logits.shape[1], "temperature": 1.0, "group": dist.group.WORLD} | settings
    return vocab_parallel_log_probs(logits, torch.eye(logits.shape[1], dtype=logits.dtype), targets, **settings)


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
    found = from_logits(logits, targets, temperature=temperature, max_chunk_elements=max_chunk_elements)
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
    found = from_logits(logits, targets)
    sides = (found, plain(logits, targets, 1.0))
    torch.testing.assert_close(*(torch.autograd.grad(side[used].sum(), logits)[0] for side in sides))


def test_logits_in_half_precision_are_worked_off_in_single(lone_rank: MegatronRank) -> None:
    torch.manual_seed(2)
    logits = torch.randn(5, 7).bfloat16().requires_grad_()
    targets = torch.randint(0, 7, (5,))
    found = from_logits(logits, targets, temperature=0.5)
    wanted = plain(logits.float(), targets, 0.5)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    assert gradient(found, logits, torch.ones(2, 5)).dtype == torch.bfloat16


def test_vocabulary_padding_has_no_probability_and_no_gradient(lone_rank: MegatronRank) -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 8)
    logits[:, 6:] = 50.0
    logits.requires_grad_()
    targets = torch.tensor([0, 1, 2, 5])
    found = from_logits(logits, targets, vocab_size=6)
    torch.testing.assert_close(found, plain(logits[:, :6], targets, 1.0))
    assert gradient(found, logits, torch.ones(2, 4))[:, 6:].count_nonzero() == 0


def test_no_tokens_give_no_values_and_a_zero_gradient(lone_rank: MegatronRank) -> None:
    logits = torch.randn(0, 8, requires_grad=True)
    found = from_logits(logits, torch.zeros(0, dtype=torch.long))
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


@pytest.mark.parametrize("max_chunk_elements", [40, 10_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_reach_hidden_states_and_weight(
    lone_rank: MegatronRank, max_chunk_elements: int, dtype: torch.dtype
) -> None:
    torch.manual_seed(4)
    hidden, weight = torch.randn(9, 6).to(dtype).requires_grad_(), torch.randn(11, 6).to(dtype).requires_grad_()
    targets, upstream = torch.randint(0, 11, (9,)), torch.randn(2, 9)
    found = vocab_parallel_log_probs(
        hidden,
        weight,
        targets,
        vocab_size=11,
        temperature=0.7,
        group=dist.group.WORLD,
        max_chunk_elements=max_chunk_elements,
    )
    wanted = plain((hidden @ weight.T).float(), targets, 0.7)
    given = [
        torch.autograd.grad((torch.stack(side) * upstream).sum(), (hidden, weight), retain_graph=True)
        for side in (found, wanted)
    ]
    tolerance = 1e-5 if dtype is torch.float32 else 2e-2
    torch.testing.assert_close(*given, rtol=tolerance, atol=tolerance)


def test_no_tensor_is_larger_than_a_chunk(lone_rank: MegatronRank) -> None:
    num_tokens, vocab, chunk = 256, 512, 8 * 512
    hidden, weight = torch.randn(num_tokens, 4, requires_grad=True), torch.randn(vocab, 4, requires_grad=True)
    targets = torch.randint(0, vocab, (num_tokens,))
    with Made() as forward:
        found = vocab_parallel_log_probs(
            hidden,
            weight,
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
    assert max(backward.sizes) == chunk
    with Made() as plainly:
        plain(hidden @ weight.T, targets, 0.7)
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
    hidden = whole.clone().requires_grad_()
    mine = torch.eye(TP * COLUMNS)[rank * COLUMNS : (rank + 1) * COLUMNS].requires_grad_()
    found = vocab_parallel_log_probs(
        hidden, mine, targets, vocab_size=VOCAB_SIZE, temperature=0.8, group=dist.group.WORLD, max_chunk_elements=13
    )
    gradients = torch.autograd.grad((torch.stack(found) * upstream).sum(), (hidden, mine))
    torch.save((*(side.detach() for side in found), *gradients), f"{directory}/rank{rank}.pt")
    dist.destroy_process_group()


def test_two_tensor_parallel_ranks_equal_one(tmp_path: Path) -> None:
    torch.manual_seed(3)
    whole = 3 * torch.randn(9, TP * COLUMNS)
    targets, upstream = torch.randint(0, VOCAB_SIZE, (9,)), torch.randn(2, 9)
    torch.save((whole, targets, upstream), tmp_path / "given.pt")
    mp.spawn(tp_rank, args=(str(tmp_path),), nprocs=TP)
    hidden, weight = whole.clone().requires_grad_(), torch.eye(TP * COLUMNS).requires_grad_()
    wanted = plain((hidden @ weight.T)[:, :VOCAB_SIZE], targets, 0.8)
    of_hidden, of_weight = torch.autograd.grad((torch.stack(wanted) * upstream).sum(), (hidden, weight))
    ranks = [torch.load(tmp_path / f"rank{rank}.pt") for rank in range(TP)]
    for log_probs, entropy, found, _ in ranks:
        torch.testing.assert_close((log_probs, entropy), tuple(side.detach() for side in wanted), rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(found, of_hidden, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(torch.cat([part for *_, part in ranks]), of_weight, rtol=1e-5, atol=1e-6)
    assert ranks[-1][-1][VOCAB_SIZE - TP * COLUMNS :].count_nonzero() == 0
