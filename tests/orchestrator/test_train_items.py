from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.contracts.algorithm_spec import RewardKlSpec
from orchestrator.contracts.rollout import Completion, Group, Rollout
from orchestrator.loss_weights import certify
from orchestrator.rollouts.advantages import dr_grpo, reinforce_pp
from orchestrator.train_items import (
    TrainItem,
    num_rollouts,
    rollout_items,
    scoring_samples,
    supervised_item,
    train_samples,
    with_advantages,
    with_log_probs,
)
from tests.orchestrator.factories import group
from tests.orchestrator.fakes import FakeSource, encode_answer
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import KlEstimator


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
    items, metrics = with_advantages(rollout_items([with_responses(group([1.0, 0.0]), 2, 3)]), dr_grpo)
    assert metrics == {}
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
    items = rollout_items([group([1.0, 0.0], group_id="a"), group([0.0, 1.0], group_id="b")])
    assert [item.shape.group_id for item in items] == ["a", "a", "b", "b"]
    assert len({item.shape.rollout_id for item in items}) == 4


def test_the_samples_of_one_rollout_share_what_the_rollout_weighs() -> None:
    whole, *others = rollout_items([with_responses(group([1.0, 0.0]), 3, 2)])
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


def scored_items() -> list[TrainItem]:
    """Two groups of two; every response has two tokens, which the trainer and the reference find less likely."""
    groups = [with_responses(group(rewards, group_id=name), 2, 2) for name, rewards in (("a", [1, 0]), ("b", [5, 5]))]
    items = rollout_items(groups)
    own, reference = ([np.full(item.shape.num_tokens, value, np.float32) for item in items] for value in (-2.0, -2.5))
    return with_log_probs(items, trainer=own, reference=reference)


def test_a_pass_for_log_probs_trains_nothing_and_masks_prompts() -> None:
    for sample in scoring_samples(scored_items()):
        assert sample.loss_scale == 0
        assert sample.loss_mask.tolist() == [False] * 3 + [True] * 2


def test_the_trainers_log_probs_are_the_old_ones_and_the_engines_stand_beside_them() -> None:
    items = scored_items()
    certificate = certify([i.shape for i in items], loss_aggregation=LossAggregation.SAMPLE_MEAN, constant_tokens=None)
    sample = train_samples(items, certificate)[0]
    assert [
        None if array is None else array.tolist()
        for array in (sample.old_log_probs, sample.engine_log_probs, sample.reference_log_probs)
    ] == [[0, 0, 0, -2, -2], [0, 0, 0, 0, -1], [0, 0, 0, -2.5, -2.5]]
    alone = [replace(item, trainer_log_probs=None) for item in items]
    sample = train_samples(alone, certificate)[0]
    assert sample.old_log_probs is not None
    assert sample.old_log_probs.tolist() == [0, 0, 0, 0, -1]
    assert sample.engine_log_probs is None


def test_a_distance_to_the_reference_is_taken_from_rewards_before_advantages() -> None:
    items = scored_items()
    items[3] = replace(items[3], reference_log_probs=np.full(2, -4.0, dtype=np.float32))
    kl = RewardKlSpec(type="reward", estimator=KlEstimator.K1, coef=0.1)
    shaped, metrics = with_advantages(items, dr_grpo, kl=kl)
    # Summed over two tokens: 2 · 0.5 for three of the rollouts, 2 · 2 for the last.
    assert metrics["reward/kl_reference"].value == pytest.approx((3 * 1.0 + 4.0) / 4)
    assert [item.advantage for item in shaped] == pytest.approx([0.5, -0.5, 0.15, -0.15])
    assert [item.reward for item in shaped] == [1, 0, 5, 5]


def test_estimators_see_all_groups_and_samples_of_a_rollout_share_its_advantage() -> None:
    first, *others = rollout_items([group([1.0, 0.0], group_id="a"), group([0.0, 1.0], group_id="b")])
    twin = replace(first, shape=replace(first.shape, sample_id="twin"))
    items, _ = with_advantages([first, twin, *others], reinforce_pp)
    assert items[0].advantage == items[1].advantage == pytest.approx(0.5 / np.std([1, 0, 0, 1], ddof=1))
    assert [item.shape.sample_id for item in items] == [item.shape.sample_id for item in [first, twin, *others]]
