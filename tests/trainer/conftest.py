"""Resources of the trainer's tests: a quiet import of Megatron, a rank in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch

with warnings.catch_warnings():
    # Megatron warns at import that Transformer Engine and Apex are missing. On a CPU they are.
    warnings.simplefilter("ignore")
    from trainer.rank import MegatronRank

from tests.trainer import factories


@pytest.fixture
def lone_rank(process_rank: tuple[MegatronRank, list[torch.Tensor]]) -> MegatronRank:
    """The only rank of a dp=1 trainer, in this process, with its first weights. Every test starts its own phase."""
    rank, weights = process_rank
    with torch.no_grad():
        for parameter, weight in zip(rank._parameters.values(), weights, strict=True):
            parameter.copy_(weight)
    return rank


@pytest.fixture(scope="session")
def process_rank() -> Iterator[tuple[MegatronRank, list[torch.Tensor]]]:
    """Real Megatron without Ray, and its first weights. Its groups are the process's own, so there can be one only."""
    with warnings.catch_warnings():
        # Megatron warns of its own defaults while it builds a model.
        warnings.simplefilter("ignore")
        rank = factories.lone_rank(factories.trainer_spec())
    yield rank, [parameter.detach().clone() for parameter in rank._parameters.values()]
    rank.leave()
