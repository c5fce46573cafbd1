"""Which groups of an iteration are trained, and what to do when none is. Decides; the loop acts.

Every rollout that comes in goes out, either in a kept group or filtered with its reason: the books balance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from orchestrator.contracts.rollout import Group, Rollout
from orchestrator.contracts.rollout_spec import FilterSpec, ZeroVariancePolicy
from orchestrator.rollouts.advantages import has_variance


class FilterReason(StrEnum):
    """Why a rollout is not trained."""

    UNSCORABLE = "unscorable"
    """Its verifier failed: it has no reward."""
    ZERO_VARIANCE = "zero_variance"
    """The scored rollouts of its group have equal rewards, and such groups are excluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredRollout:
    """A rollout that is not trained."""

    group_id: str
    rollout: Rollout
    reason: FilterReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredGroups:
    """The rollouts of an iteration, told apart."""

    kept: tuple[Group, ...]
    """Groups to train, with their scored rollouts only; none of them is empty."""
    filtered: tuple[FilteredRollout, ...]

    def num_filtered(self, reason: FilterReason) -> int:
        """Rollouts filtered for this reason."""
        return sum(rollout.reason is reason for rollout in self.filtered)


def filter_groups(groups: Iterable[Group], zero_variance: ZeroVariancePolicy) -> FilteredGroups:
    """Leave out unscorable rollouts and, under `exclude`, groups whose rewards are all equal.

    Under `include` such groups stay, count in every denominator and have advantage 0.
    """
    kept: list[Group] = []
    filtered: list[FilteredRollout] = []
    for group in groups:
        scored = tuple(rollout for rollout in group.rollouts if rollout.reward is not None)
        unscorable = [rollout for rollout in group.rollouts if rollout.reward is None]
        filtered.extend(_filtered(group, unscorable, FilterReason.UNSCORABLE))
        if zero_variance is ZeroVariancePolicy.EXCLUDE and not has_variance([rollout.reward for rollout in scored]):
            filtered.extend(_filtered(group, scored, FilterReason.ZERO_VARIANCE))
        elif scored:
            kept.append(replace(group, rollouts=scored))
    return FilteredGroups(kept=tuple(kept), filtered=tuple(filtered))


class EmptyDecision(StrEnum):
    """What follows a round of rollouts in which no group survived."""

    REFILL = "refill"
    """Roll out new prompts within the same iteration."""
    SKIP = "skipped:no_survivors"
    """End the iteration without a step: weights and LR position stay."""
    FAIL = "fail"
    """Too many iterations in a row were empty: the run ends and says so."""


def decide_when_empty(*, num_refills: int, num_empty_before: int, filter_spec: FilterSpec) -> EmptyDecision:
    """Decide after a round without survivors.

    num_refills: refills that this iteration has had.
    num_empty_before: empty iterations in a row before this one.
    """
    if num_refills < filter_spec.max_refills:
        return EmptyDecision.REFILL
    if num_empty_before + 1 >= filter_spec.max_consecutive_empty:
        return EmptyDecision.FAIL
    return EmptyDecision.SKIP


def _filtered(group: Group, rollouts: Iterable[Rollout], reason: FilterReason) -> Iterable[FilteredRollout]:
    return (FilteredRollout(group_id=group.group_id, rollout=rollout, reason=reason) for rollout in rollouts)
