from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.rollouts.advantages import ESTIMATORS, Groups, estimate_of, has_variance, iteration_advantages
from tests.orchestrator.factories import case
from trainer.contracts.python_function import PythonFunction

REWARD = st.floats(-1e6, 1e6).filter(lambda reward: reward == 0 or abs(reward) > 1e-6)
GROUPS = st.lists(st.lists(REWARD, min_size=1, max_size=6), min_size=1, max_size=6)
OWN_GROUP = [name for name in AdvantageEstimator if name is not AdvantageEstimator.REINFORCE_PP]
"""Estimators whose baseline is the group's own."""

Advantages = tuple[tuple[float | None, ...], ...]


def advantages(name: AdvantageEstimator, *groups: Sequence[float | None]) -> Advantages:
    return iteration_advantages(groups, ESTIMATORS[name])


def plain(name: AdvantageEstimator, groups: Groups) -> list[list[float]]:
    """The papers' formulas, one rollout at a time; 0 where they divide by 0."""
    whole = [reward for group in groups for reward in group]
    apart = [reward - statistics.fmean(group) for group in groups for reward in group]

    def divided(value: float, values: Sequence[float]) -> float:
        std = statistics.stdev(values) if len(values) > 1 and max(values) != min(values) else 0.0
        return value / std if std else 0.0

    def of_rollout(group: Sequence[float], i: int) -> float:
        reward, others = group[i], [*group[:i], *group[i + 1 :]]
        match name:
            case AdvantageEstimator.GRPO:  # Shao et al. 2024, DeepSeekMath, section 4.1.2
                return divided(reward - statistics.fmean(group), group)
            case AdvantageEstimator.DR_GRPO:  # Liu et al. 2025, Understanding R1-Zero-Like Training
                return reward - statistics.fmean(group)
            case AdvantageEstimator.RLOO:  # Ahmadian et al. 2024, Back to Basics
                return reward - statistics.fmean(others) if others else 0.0
            case AdvantageEstimator.REINFORCE_PP:  # Hu 2025, REINFORCE++
                return divided(reward - statistics.fmean(whole), whole)
            case AdvantageEstimator.REINFORCE_PP_BASELINE:  # Hu 2025, REINFORCE++-baseline
                return divided(reward - statistics.fmean(group), apart)

    return [[of_rollout(group, i) for i in range(len(group))] for group in groups]


@pytest.mark.parametrize("name", AdvantageEstimator)
@given(groups=GROUPS)
def test_each_estimator_equals_its_papers_formula(name: AdvantageEstimator, groups: list[list[float]]) -> None:
    scale = max(1.0, *(abs(reward) for group in groups for reward in group))
    for found, wanted in zip(advantages(name, *groups), plain(name, groups), strict=True):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9 * scale)


def test_the_baseline_is_the_mean_of_the_own_group() -> None:
    uneven = case("groups", "uneven-groups")
    centred = [list(group) for group in advantages(AdvantageEstimator.DR_GRPO, *uneven["given"]["rewards"])]
    assert centred == uneven["expect"]["centred"]


@pytest.mark.parametrize("name", AdvantageEstimator)
@pytest.mark.parametrize("rewards", case("groups", "equal-rewards")["given"]["rewards"])
def test_equal_rewards_give_exactly_zero(rewards: list[float], name: AdvantageEstimator) -> None:
    for kind in (float, np.float32, np.float64):
        group = [kind(reward) for reward in rewards]
        assert advantages(name, group) == ((0.0,) * len(rewards),)
        assert advantages(name, group, group) == ((0.0,) * len(rewards),) * 2
        assert not has_variance(group)


@pytest.mark.parametrize("name", OWN_GROUP)
def test_a_group_of_equal_rewards_has_exactly_zero_beside_one_that_varies(name: AdvantageEstimator) -> None:
    equal, varied = advantages(name, [np.float32(0.1)] * 7, [0.0, 1.0])
    assert equal == (0.0,) * 7
    assert varied[0] == -varied[1] != 0  # type: ignore[operator]


def test_where_groups_play_no_part_a_group_of_equal_rewards_teaches_too() -> None:
    right, wrong = advantages(AdvantageEstimator.REINFORCE_PP, [1.0, 1.0], [0.0, 0.0])
    assert right == (pytest.approx(math.sqrt(3) / 2),) * 2
    assert wrong == (pytest.approx(-math.sqrt(3) / 2),) * 2


def test_leave_one_out_compares_with_the_others() -> None:
    assert advantages(AdvantageEstimator.RLOO, [1.0, 0.0, 0.0, 0.0]) == (pytest.approx((1.0, *(-1 / 3,) * 3)),)


def test_an_unscorable_rollout_enters_no_mean() -> None:
    missing = case("groups", "missing-reward")
    (found,) = advantages(AdvantageEstimator.DR_GRPO, missing["given"]["rewards"])
    assert found.count(None) == missing["expect"]["unscorable"]
    for advantage, expected in zip(found, missing["expect"]["advantages"], strict=True):
        assert advantage == (None if expected == "masked" else pytest.approx(expected, abs=1e-7))


@pytest.mark.parametrize("name", AdvantageEstimator)
@given(groups=st.lists(st.lists(REWARD | st.none(), max_size=6), max_size=6))
def test_unscorable_rollouts_change_nothing_for_others(
    name: AdvantageEstimator, groups: list[list[float | None]]
) -> None:
    found = advantages(name, *groups)
    scored = [[reward for reward in group if reward is not None] for group in groups]
    alone = advantages(name, *[group for group in scored if group])
    assert [
        [value for value in group if value is not None] for group in found if any(v is not None for v in group)
    ] == [list(group) for group in alone]
    for group, of_group in zip(groups, found, strict=True):
        assert [reward is None for reward in group] == [value is None for value in of_group]


@pytest.mark.parametrize("name", AdvantageEstimator)
def test_groups_without_a_scored_rollout_have_no_advantage(name: AdvantageEstimator) -> None:
    assert advantages(name) == ()
    assert advantages(name, [], [None, None]) == ((), (None, None))
    assert advantages(name, [None, 3.0]) == ((None, 0.0),)


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_not_finite_is_refused(reward: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        advantages(AdvantageEstimator.GRPO, [1.0, reward])


@given(GROUPS, st.sampled_from(AdvantageEstimator))
def test_advantages_keep_the_order_of_rewards_within_a_group_and_sum_to_zero(
    groups: list[list[float]], name: AdvantageEstimator
) -> None:
    found = advantages(name, *groups)
    for rewards, of_group in zip(groups, found, strict=True):
        in_order = [value for _, value in sorted(zip(rewards, of_group, strict=True))]  # type: ignore[type-var]
        assert in_order == sorted(in_order)  # type: ignore[type-var]
    whole = [value for group in found for value in group if value is not None]
    assert math.fsum(whole) == pytest.approx(0, abs=1e-7 * max(1.0, *map(abs, whole)))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("name", AdvantageEstimator)
def test_extreme_rewards_stay_finite(name: AdvantageEstimator, scale: float) -> None:
    for group in advantages(name, [0.0, scale, scale], [scale]):
        assert all(advantage is not None and math.isfinite(advantage) for advantage in group)


def ranks(rewards: Groups, *, best: float = 1.0) -> Groups:
    """A user's estimator: the best of each group gets `best`, the others nothing."""
    return [[best * (reward == max(group)) for reward in group] for group in rewards]


def unbounded(rewards: Groups) -> Groups:
    return [[math.inf for _ in group] for group in rewards]


def user(name: str, **arguments: float) -> Advantages:
    function = PythonFunction(python=f"{__name__}:{name}", arguments=dict(arguments))
    return iteration_advantages([[0.0, None, 2.0], [None]], estimate_of(function))


def test_a_users_own_estimator_gets_the_scored_rewards_and_its_arguments() -> None:
    assert user("ranks", best=3.0) == ((0.0, None, 3.0), (None,))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unbounded", "returned inf"),
        ("no_such", "algorithm.advantage is python: .* has no function no_such"),
    ],
)
def test_a_users_estimator_that_cannot_be_trained_on_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        user(name)


def test_a_module_that_is_not_there_is_told_with_its_field() -> None:
    with pytest.raises(ValueError, match=r"algorithm\.advantage .* importing no_such_module failed .*PYTHONPATH"):
        estimate_of(PythonFunction(python="no_such_module:function"))


def test_an_estimator_that_forgets_rollouts_is_refused() -> None:
    with pytest.raises(ValueError, match=r"groups of sizes \[1\] for rewards of sizes \[2\]"):
        iteration_advantages([[0.0, 1.0]], lambda rewards: [[1.0]])
