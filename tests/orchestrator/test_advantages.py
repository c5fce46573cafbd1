from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.advantages import group_advantages
from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from tests.orchestrator.factories import case

REWARD = st.floats(-1e6, 1e6).filter(lambda reward: reward == 0 or abs(reward) > 1e-6)


def test_the_baseline_is_the_mean_of_the_own_group() -> None:
    uneven = case("groups", "uneven-groups")
    centred = [list(group_advantages(rewards, AdvantageEstimator.DR_GRPO)) for rewards in uneven["given"]["rewards"]]
    assert centred == uneven["expect"]["centred"]


@pytest.mark.parametrize("estimator", AdvantageEstimator)
@pytest.mark.parametrize("rewards", case("groups", "equal-rewards")["given"]["rewards"])
def test_equal_rewards_give_exactly_zero(rewards: list[float], estimator: AdvantageEstimator) -> None:
    assert group_advantages(rewards, estimator) == (0.0,) * len(rewards)


def test_an_unscorable_rollout_enters_no_mean() -> None:
    missing = case("groups", "missing-reward")
    advantages = group_advantages(missing["given"]["rewards"], AdvantageEstimator.DR_GRPO)
    assert advantages.count(None) == missing["expect"]["unscorable"]
    for advantage, expected in zip(advantages, missing["expect"]["advantages"], strict=True):
        assert advantage == (None if expected == "masked" else pytest.approx(expected, abs=1e-7))


@pytest.mark.parametrize("estimator", AdvantageEstimator)
def test_groups_without_a_scored_rollout_have_no_advantage(estimator: AdvantageEstimator) -> None:
    assert group_advantages([], estimator) == ()
    assert group_advantages([None, None], estimator) == (None, None)
    assert group_advantages([None, 3.0], estimator) == (None, 0.0)


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_not_finite_is_refused(reward: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        group_advantages([1.0, reward], AdvantageEstimator.GRPO)


@given(st.lists(REWARD, min_size=2, max_size=32).filter(lambda rewards: max(rewards) != min(rewards)))
def test_grpo_divides_by_the_unbiased_standard_deviation(rewards: list[float]) -> None:
    mean, std = statistics.fmean(rewards), statistics.stdev(rewards)
    expected = [(reward - mean) / std for reward in rewards]
    assert group_advantages(rewards, AdvantageEstimator.GRPO) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.lists(REWARD | st.none(), max_size=32), st.sampled_from(AdvantageEstimator))
def test_advantages_sum_to_zero_and_keep_the_order_of_rewards(
    rewards: list[float | None], estimator: AdvantageEstimator
) -> None:
    advantages = group_advantages(rewards, estimator)
    assert [advantage is None for advantage in advantages] == [reward is None for reward in rewards]
    scored = sorted((r, a) for r, a in zip(rewards, advantages, strict=True) if r is not None and a is not None)
    ordered = [advantage for _, advantage in scored]
    assert ordered == sorted(ordered)
    assert math.fsum(ordered) == pytest.approx(0, abs=1e-8 * max(1.0, *map(abs, ordered), 1.0))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
def test_extreme_rewards_stay_finite(scale: float) -> None:
    for estimator in AdvantageEstimator:
        advantages = group_advantages([0.0, scale, scale], estimator)
        assert all(advantage is not None and math.isfinite(advantage) for advantage in advantages)
