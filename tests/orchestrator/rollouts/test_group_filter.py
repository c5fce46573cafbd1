from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.rollout_spec import FilterSpec, ZeroVariancePolicy
from orchestrator.rollouts.group_filter import EmptyDecision, FilterReason, decide_when_empty, filter_groups
from tests.orchestrator.factories import case, group


@pytest.mark.parametrize("policy", ZeroVariancePolicy)
def test_whether_groups_without_variance_count_is_declared(policy: ZeroVariancePolicy) -> None:
    entry = case("loss", "filtered-groups-denominator")
    equal, size = entry["given"]["zero_variance_groups"], entry["given"]["group_size"]
    groups = [group([1.0] * size if k < equal else [0.0, *[1.0] * (size - 1)]) for k in range(entry["given"]["groups"])]
    kept = filter_groups(groups, policy).kept
    assert sum(len(group.rollouts) for group in kept) == entry["expect"][policy]["global_batch_size"]


@pytest.mark.parametrize("rewards", case("groups", "equal-rewards")["given"]["rewards"])
def test_equal_rewards_are_zero_variance(rewards: list[float]) -> None:
    found = filter_groups([group(rewards)], ZeroVariancePolicy.EXCLUDE)
    assert found.kept == ()
    assert found.num_filtered(FilterReason.ZERO_VARIANCE) == len(rewards)


def test_an_unscorable_rollout_is_left_out_and_counted() -> None:
    missing = case("groups", "missing-reward")
    found = filter_groups([group(missing["given"]["rewards"])], ZeroVariancePolicy.EXCLUDE)
    assert [rollout.reward for rollout in found.kept[0].rollouts] == [1, 0, 1]
    assert found.num_filtered(FilterReason.UNSCORABLE) == missing["expect"]["unscorable"]


@pytest.mark.parametrize("policy", ZeroVariancePolicy)
def test_a_group_without_any_reward_is_never_kept(policy: ZeroVariancePolicy) -> None:
    found = filter_groups([group([None, None])], policy)
    assert found.kept == ()
    assert found.num_filtered(FilterReason.UNSCORABLE) == 2


@given(
    st.lists(st.lists(st.sampled_from([None, 0.0, 0.1, 1.0]), max_size=6), max_size=10),
    st.sampled_from(ZeroVariancePolicy),
)
def test_the_books_balance(rewards: list[list[float | None]], policy: ZeroVariancePolicy) -> None:
    groups = [group(own, group_id=f"g{k}") for k, own in enumerate(rewards)]
    found = filter_groups(groups, policy)
    kept = [rollout.rollout_id for group in found.kept for rollout in group.rollouts]
    filtered = [entry.rollout.rollout_id for entry in found.filtered]
    assert sorted(kept + filtered) == sorted(rollout.rollout_id for group in groups for rollout in group.rollouts)
    for kept_group in found.kept:
        own = [rollout.reward for rollout in kept_group.rollouts]
        assert own
        assert None not in own
        assert policy is ZeroVariancePolicy.INCLUDE or len(set(own)) > 1


def test_refills_are_bounded_and_empty_iterations_end_the_run() -> None:
    nothing = case("groups", "nothing-survives")
    groups = [group([1.0, 1.0])] * nothing["given"]["zero_variance_groups"]
    assert filter_groups(groups, ZeroVariancePolicy.EXCLUDE).kept == ()

    spec = FilterSpec(max_refills=nothing["given"]["max_refills"], max_consecutive_empty=2)
    first = [decide_when_empty(num_refills=k, num_empty_before=0, filter_spec=spec) for k in range(4)]
    assert first == [EmptyDecision.REFILL] * 3 + [EmptyDecision(nothing["expect"]["status"])]
    second = [decide_when_empty(num_refills=k, num_empty_before=1, filter_spec=spec) for k in range(4)]
    assert second == [EmptyDecision.REFILL] * 3 + [EmptyDecision.FAIL]
