from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer import factories
from trainer.contracts.loss_spec import ClippedLossSpec, SftLossSpec
from trainer.shard import make_shards, needs_rollout_data


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
                for name in ("token_ids", "loss_mask", "advantages", "old_log_probs"):
                    joined = np.concatenate([getattr(one, name) for one in wanted])
                    np.testing.assert_array_equal(getattr(arrays, name), joined)


def test_micro_batches_that_do_not_tile_the_partition_are_refused():
    samples = factories.samples(np.random.default_rng(0), 2)
    plan = replace(factories.schedule([[[0, 1]]]), micro_batch_indices=(((1, 0),),))
    with pytest.raises(ValueError, match=r"micro_batch_indices\[0\] must tile"):
        make_shards(samples, plan, loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)


def test_missing_rollout_data_is_refused_only_where_the_loss_needs_it():
    samples = [replace(factories.samples(np.random.default_rng(0), 1)[0], old_log_probs=None)]
    plan = factories.schedule([[[0]]])
    (shard,) = make_shards(samples, plan, loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)
    assert shard.samples.advantages is None
    with pytest.raises(ValueError, match="needs old_log_probs"):
        make_shards(samples, plan, loss=ClippedLossSpec(), vocab_size=factories.VOCAB_SIZE)


@pytest.mark.parametrize("token_id", [-1, factories.VOCAB_SIZE])
def test_tokens_outside_the_vocabulary_are_refused(token_id):
    one = factories.sample(np.random.default_rng(0))
    one.token_ids[2] = token_id
    with pytest.raises(ValueError, match=rf"\[0, 301\); found {token_id}"):
        make_shards([one], factories.schedule([[[0]]]), loss=SftLossSpec(), vocab_size=factories.VOCAB_SIZE)


def test_only_losses_of_rollouts_need_their_data():
    assert not needs_rollout_data(SftLossSpec())
    assert needs_rollout_data(ClippedLossSpec())
