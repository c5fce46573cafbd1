from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer import factories
from trainer.contracts.loss_spec import ClippedLossSpec, KlTermSpec, SftLossSpec, TisSpec
from trainer.shard import make_shards, needed_arrays


@given(seed=st.integers(0, 2**32 - 1), dp=st.integers(1, 3))
def test_shards_hold_each_sample_where_the_schedule_puts_it(seed, dp):
    rng = np.random.default_rng(seed)
    samples = factories.samples(rng, 8)
    steps = [
        [[[first + i for i in micro_batch] for micro_batch in rank] for rank in factories.random_step(rng, 4, dp=dp)]
        for first in (0, 4)
    ]
    plan = factories.schedule(*steps)
    for dp_rank, shard in enumerate(
        make_shards(samples, plan, loss=ClippedLossSpec(), vocab_size=factories.VOCAB_SIZE)
    ):
        for step, micro_batches in zip(steps, shard.steps(), strict=True):
            for indices, arrays in zip(step[dp_rank], micro_batches, strict=True):
                assert (arrays is None) == (not indices)
                if arrays is None:
                    continue
                wanted = [samples[i] for i in indices]
                assert arrays.lengths.tolist() == [one.num_tokens for one in wanted]
                assert arrays.num_loss_tokens == sum(one.num_loss_tokens for one in wanted)
                assert arrays.loss_scales == pytest.approx([one.loss_scale for one in wanted])
                for owner, name in (
                    (arrays, "token_ids"),
                    (arrays, "loss_mask"),
                    (arrays.rollout, "advantages"),
                    (arrays.rollout, "old_log_probs"),
                ):
                    joined = np.concatenate([getattr(one, name) for one in wanted])
                    np.testing.assert_array_equal(getattr(owner, name), joined)


def test_micro_batches_that_do_not_tile_the_partition_are_refused():
    samples = factories.samples(np.random.default_rng(0), 2)
    plan = replace(factories.schedule([[[0, 1]]]), micro_batch_indices=(((1, 0),),))
    with pytest.raises(ValueError, match=r"micro_batch_indices\[0\] must tile"):
        make_shards(samples, plan, loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)


def test_missing_rollout_data_is_refused_only_where_the_loss_needs_it():
    samples = [replace(factories.samples(np.random.default_rng(0), 1)[0], old_log_probs=None)]
    plan = factories.schedule([[[0]]])
    (shard,) = make_shards(samples, plan, loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)
    assert not shard.samples.rollout.given()
    with pytest.raises(ValueError, match="needs old_log_probs"):
        make_shards(samples, plan, loss=ClippedLossSpec(), vocab_size=factories.VOCAB_SIZE)


@pytest.mark.parametrize("token_id", [-1, factories.VOCAB_SIZE])
def test_tokens_outside_the_vocabulary_are_refused(token_id):
    one = factories.sample(np.random.default_rng(0))
    one.token_ids[2] = token_id
    with pytest.raises(ValueError, match=rf"\[0, 301\); found {token_id}"):
        make_shards([one], factories.schedule([[[0]]]), loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)


def test_a_loss_gets_what_it_reads_and_the_engines_log_probs_where_they_are_there():
    given = factories.samples(np.random.default_rng(0), 3)
    plan = factories.schedule([[[0, 1, 2]]])
    log_probs = [np.full(one.num_tokens, -1.0, dtype=np.float32) for one in given]
    both = [replace(one, engine_log_probs=mine) for one, mine in zip(given, log_probs, strict=True)]
    for samples, loss, names in (
        (both, None, set()),
        (both, SftLossSpec(), set()),
        (given, ClippedLossSpec(), {"advantages", "old_log_probs"}),
        (both, ClippedLossSpec(), {"advantages", "old_log_probs", "engine_log_probs"}),
    ):
        (shard,) = make_shards(samples, plan, loss=loss, vocab_size=factories.VOCAB_SIZE)
        assert set(shard.samples.rollout.given()) == names


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (ClippedLossSpec(kl=KlTermSpec(coef=0.1)), "reference_log_probs"),
        (ClippedLossSpec(correction=TisSpec(type="tis")), "engine_log_probs"),
    ],
)
def test_terms_of_the_loss_need_their_log_probs(loss, name):
    assert name in needed_arrays(loss)
    with pytest.raises(ValueError, match=f"needs {name} on every sample; 2 samples"):
        make_shards(
            factories.samples(np.random.default_rng(0), 2),
            factories.schedule([[[0, 1]]]),
            loss=loss,
            vocab_size=factories.VOCAB_SIZE,
        )
