from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.contracts.rollout import Completion, Group, Rollout
from orchestrator.loss_weights import certify
from orchestrator.train_items import num_rollouts, rollout_items, supervised_item, train_samples
from tests.orchestrator.factories import group
from tests.orchestrator.fakes import FakeSource, encode_answer
from trainer.contracts.certificate import LossAggregation


def with_responses(given: Group, *lengths: int) -> Group:
    def longer(rollout: Rollout, length: int) -> Rollout:
        completion = Completion(
            token_ids=np.arange(length, dtype=np.int64),
            log_probs=-np.arange(length, dtype=np.float32),
            truncated=False,
            policy_version=4,
        )
        return replace(rollout, completion=completion)

    return replace(given, rollouts=tuple(map(longer, given.rollouts, lengths)))


def test_a_supervised_item_has_its_loss_on_the_answer_alone() -> None:
    [prompt] = FakeSource().take(1)
    item = supervised_item(prompt, encode_answer("5"), policy_version=3)
    certificate = certify([item.shape], loss_aggregation=LossAggregation.TOKEN_MEAN, constant_tokens=None)
    [sample] = train_samples([item], certificate)
    assert sample.token_ids.tolist() == [1, 2, 5, 9]
    assert sample.loss_mask.tolist() == [False, False, True, True]
    assert sample.advantages is None
    assert sample.old_log_probs is None
    assert item.policy_version == 3


def test_rollouts_carry_advantage_and_log_probs_on_their_responses() -> None:
    items = rollout_items([with_responses(group([1.0, 0.0]), 2, 3)], AdvantageEstimator.DR_GRPO)
    shapes = [item.shape for item in items]
    samples = train_samples(items, certify(shapes, loss_aggregation=LossAggregation.ROLLOUT_MEAN, constant_tokens=None))
    assert [item.advantage for item in items] == [0.5, -0.5]
    assert [item.policy_version for item in items] == [4, 4]
    second = samples[1]
    assert second.old_log_probs is not None
    assert second.old_log_probs.tolist() == [0, 0, 0, 0, -1, -2]
    assert second.advantages is not None
    assert second.advantages.tolist() == [0, 0, 0, -0.5, -0.5, -0.5]
    assert [sample.loss_scale * sample.num_loss_tokens for sample in samples] == pytest.approx([1.0, 1.0])


def test_the_rollouts_of_a_prompt_share_its_group() -> None:
    items = rollout_items([group([1.0, 0.0], group_id="a"), group([0.0, 1.0], group_id="b")], AdvantageEstimator.GRPO)
    assert [item.shape.group_id for item in items] == ["a", "a", "b", "b"]
    assert len({item.shape.rollout_id for item in items}) == 4


def test_the_samples_of_one_rollout_share_what_the_rollout_weighs() -> None:
    whole, *others = rollout_items([with_responses(group([1.0, 0.0]), 3, 2)], AdvantageEstimator.DR_GRPO)
    parts = [
        replace(whole, shape=replace(whole.shape, sample_id=f"{whole.shape.sample_id}/{k}", num_loss_tokens=3))
        for k in range(2)
    ]
    items = [*parts, *others]
    shapes = [item.shape for item in items]
    samples = train_samples(items, certify(shapes, loss_aggregation=LossAggregation.ROLLOUT_MEAN, constant_tokens=None))
    assert num_rollouts(items) == 2
    totals = [sample.loss_scale * sample.num_loss_tokens for sample in samples]
    assert totals == pytest.approx([0.75, 0.75, 1.5])
