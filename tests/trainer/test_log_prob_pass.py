"""Log-probs of the policy and of a frozen reference on one rank; under layouts in `test_losses_under_layouts.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.trainer import factories
from trainer.architecture import load_hf_config
from trainer.contracts.loss_spec import ClippedLossSpec, KlTermSpec, SftLossSpec
from trainer.contracts.policy_trainer import LogProbsOf
from trainer.contracts.trainer_spec import PhaseSpec
from trainer.rank import MegatronRank
from trainer.shard import make_shards

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")

TEMPERATURE = 0.8
SAMPLES = factories.samples(np.random.default_rng(4), 5)
# A dummy, and samples in another order than they are given.
PLAN = factories.schedule([[[3, 0], [], [1], [4, 2]]])


def phase(*, lr: float = 1e-2) -> PhaseSpec:
    given = factories.phase(ClippedLossSpec(temperature=TEMPERATURE), lr=lr)
    return PhaseSpec.model_validate(given.model_dump() | {"keeps_reference": True})


def asked(rank: MegatronRank, of: LogProbsOf) -> list[np.ndarray]:
    """In the order of the samples."""
    (shard,) = make_shards(SAMPLES, PLAN, loss=None, vocab_size=factories.VOCAB_SIZE)
    row = rank.log_probs(shard, of)
    assert row is not None
    order = PLAN.partitions[0]
    parts = np.split(row, np.cumsum([SAMPLES[i].num_tokens for i in order])[:-1])
    return [parts[order.index(i)] for i in range(len(SAMPLES))]


def expected(rank: MegatronRank) -> list[np.ndarray]:
    model = factories.reference_model(load_hf_config(factories.model_spec()), rank.weights())
    return [factories.reference_log_probs(model, one, temperature=TEMPERATURE) for one in SAMPLES]


def check(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, log_probs, plain in zip(SAMPLES, found, wanted, strict=True):
        np.testing.assert_allclose(log_probs, plain, atol=1e-5)
        assert np.count_nonzero(log_probs[~one.loss_mask]) == 0


def train(rank: MegatronRank) -> None:
    factories.train_alone(rank, SAMPLES, factories.schedule([[[0, 1, 2, 3, 4]]]))


def test_the_pass_finds_the_log_probs_of_a_plain_model_and_changes_nothing(lone_rank: MegatronRank) -> None:
    lone_rank.start_phase(phase())
    before = lone_rank.weights()
    check(asked(lone_rank, LogProbsOf.POLICY), expected(lone_rank))
    assert all(np.array_equal(before[name], tensor) for name, tensor in lone_rank.weights().items())


def test_the_reference_stays_while_the_policy_moves_and_leaves_it_bit_for_bit(lone_rank: MegatronRank) -> None:
    lone_rank.start_phase(phase())
    frozen = expected(lone_rank)
    for _ in range(2):
        train(lone_rank)
        policy = lone_rank.weights()
        check(asked(lone_rank, LogProbsOf.REFERENCE), frozen)
        assert all(np.array_equal(policy[name], tensor) for name, tensor in lone_rank.weights().items())
        check(asked(lone_rank, LogProbsOf.POLICY), expected(lone_rank))
    moved = max(float(np.abs(a - b).max()) for a, b in zip(frozen, expected(lone_rank), strict=True))
    assert moved > 1e-3


def test_a_pass_between_two_steps_does_not_change_what_they_train(lone_rank: MegatronRank) -> None:
    lone_rank.start_phase(phase(lr=1e-3))
    start = lone_rank.weights()
    finals = []
    for with_pass in (False, True):
        _reset(lone_rank, start)
        train(lone_rank)
        if with_pass:
            asked(lone_rank, LogProbsOf.POLICY)
            asked(lone_rank, LogProbsOf.REFERENCE)
        train(lone_rank)
        finals.append(lone_rank.weights())
    assert all(np.array_equal(finals[0][name], finals[1][name]) for name in start)


def _reset(rank: MegatronRank, weights: dict[str, np.ndarray]) -> None:
    import torch

    from trainer.model import set_weights

    set_weights(rank._model, rank._shards({name: torch.tensor(tensor) for name, tensor in weights.items()}))
    rank.start_phase(phase(lr=1e-3))


def test_a_checkpoint_keeps_the_reference(lone_rank: MegatronRank, tmp_path: Path) -> None:
    lone_rank.start_phase(phase())
    frozen = asked(lone_rank, LogProbsOf.REFERENCE)
    train(lone_rank)
    lone_rank.begin_save(str(tmp_path))
    lone_rank.finish_save()
    train(lone_rank)
    # A new phase would take the weights as they are now for its reference.
    lone_rank.start_phase(phase())
    lone_rank.load(str(tmp_path))
    for found, wanted in zip(asked(lone_rank, LogProbsOf.REFERENCE), frozen, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_phase_that_keeps_no_reference_has_none(lone_rank: MegatronRank, tmp_path: Path) -> None:
    lone_rank.start_phase(factories.phase(SftLossSpec()))
    with pytest.raises(ValueError, match="keeps_reference"):
        asked(lone_rank, LogProbsOf.REFERENCE)
    lone_rank.begin_save(str(tmp_path))
    lone_rank.finish_save()
    lone_rank.start_phase(phase())
    with pytest.raises(ValueError, match="lacks reference of"):
        lone_rank.load(str(tmp_path))


def test_a_distance_in_the_loss_needs_a_reference() -> None:
    fields = factories.phase(ClippedLossSpec(kl=KlTermSpec(coef=0.1))).model_dump()
    with pytest.raises(ValueError, match=r"loss\.kl .* set keeps_reference"):
        PhaseSpec.model_validate(fields | {"keeps_reference": False})
