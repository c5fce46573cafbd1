"""Resources of the trainer's tests: a quiet import of Megatron, a rank in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    # Megatron warns at import that Transformer Engine and Apex are missing. On a CPU they are.
    warnings.simplefilter("ignore")
    from trainer.rank import MegatronRank

from tests.trainer import factories


@pytest.fixture(scope="session")
def lone_rank() -> Iterator[MegatronRank]:
    """The only rank of a dp=1 trainer, in this process: real Megatron, no Ray. Every test starts its own phase."""
    with warnings.catch_warnings():
        # Megatron warns of its own defaults while it builds a model.
        warnings.simplefilter("ignore")
        rank = factories.lone_rank(factories.trainer_spec())
    yield rank
    rank.leave()
