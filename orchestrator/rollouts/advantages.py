"""From rewards to advantages, over all groups of an iteration. Pure; the loop calls it.

A new estimator is a function from the rewards of groups to their advantages and an entry in `ESTIMATORS`; one from
outside this repository comes as `python: module:function` (see `estimate_of`).

Legend: n rewards of a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from trainer.contracts.python_function import PythonFunction

Groups = Sequence[Sequence[float]]
"""One sequence of numbers for each group, one number for each of its scored rollouts; no group is empty."""
Estimate = Callable[[Groups], Groups]
"""Rewards of all groups that an iteration trains → advantages of the same shape."""


def estimate_of(advantage: AdvantageEstimator | PythonFunction) -> Estimate:
    """The estimator that a spec names.

    A user's own is `function(rewards: Sequence[Sequence[float]], **arguments) -> Sequence[Sequence[float]]`: finite
    rewards by group and rollout, those that could not be judged left out; advantages of the same shape.

    Raises:
        ValueError: the user's function cannot be imported.
    """
    if not isinstance(advantage, PythonFunction):
        return ESTIMATORS[advantage]
    function = advantage.load("algorithm.advantage")
    return lambda rewards: function(rewards, **advantage.arguments)


def iteration_advantages(
    groups: Sequence[Sequence[float | None]], estimate: Estimate
) -> tuple[tuple[float | None, ...], ...]:
    """The advantage of each rollout by group; None where the reward is None.

    An unscorable rollout (None) enters no mean: rewards 1, None, 0, 1 under `dr_grpo` have the baseline 2/3 and the
    advantages 1/3, None, −2/3, 1/3.

    Raises:
        ValueError: a reward is NaN or infinite, or the estimator returned another shape or such a number.
    """
    scored = [[reward for reward in group if reward is not None] for group in groups]
    for reward in (reward for group in scored for reward in group):
        if not math.isfinite(reward):
            raise ValueError(f"a reward is {reward}; it must be finite, or None when the rollout cannot be judged")
    asked = [group for group in scored if group]
    answers = iter(_checked(estimate(asked), asked) if asked else ())
    estimates = [next(answers) if group else [] for group in scored]
    return tuple(tuple(_beside_unscorable(group, found)) for group, found in zip(groups, estimates, strict=True))


def has_variance(rewards: Sequence[float | None]) -> bool:
    """Whether two scored rollouts of the group differ in reward: without it the group alone has nothing to teach."""
    scored = [reward for reward in rewards if reward is not None]
    return bool(scored) and max(scored) != min(scored)


def grpo(rewards: Groups) -> Groups:
    """Reward minus the group's mean, divided by the group's std (Shao et al. 2024, section 4.1.2).

    The std is the unbiased one (n − 1), and nothing is added to it: a group without variance has advantage 0.
    """
    return [_scaled(_centred(group)) for group in rewards]


def dr_grpo(rewards: Groups) -> Groups:
    """Reward minus the group's mean (Liu et al. 2025): without a division, easy and hard prompts weigh alike."""
    return [_centred(group) for group in rewards]


def rloo(rewards: Groups) -> Groups:
    """Reward minus the mean of the group's other rollouts (Ahmadian et al. 2024, section 3.2).

    That is n / (n − 1) times the distance to the group's own mean: 1, 0, 0, 0 become 1, −1/3, −1/3, −1/3. A rollout
    without others has advantage 0.
    """
    return [[value * len(group) / max(1, len(group) - 1) for value in _centred(group)] for group in rewards]


def reinforce_pp(rewards: Groups) -> Groups:
    """Reward minus the mean of all rollouts, divided by the std of all (REINFORCE++, Hu 2025): groups play no part.

    Every rollout counts once, where some implementations weigh it by its tokens. A distance to the reference belongs
    into the reward (`algorithm.kl: reward`); it counts as a whole, for every token of its rollout.
    """
    whole = [reward for group in rewards for reward in group]
    return _regrouped(_scaled(_centred(whole)), rewards)


def reinforce_pp_baseline(rewards: Groups) -> Groups:
    """Reward minus the group's mean, divided by the std over all rollouts (REINFORCE++-baseline, Hu 2025)."""
    centred = [value for group in rewards for value in _centred(group)]
    return _regrouped(_scaled(centred), rewards)


ESTIMATORS: Mapping[AdvantageEstimator, Estimate] = {
    AdvantageEstimator.GRPO: grpo,
    AdvantageEstimator.DR_GRPO: dr_grpo,
    AdvantageEstimator.RLOO: rloo,
    AdvantageEstimator.REINFORCE_PP: reinforce_pp,
    AdvantageEstimator.REINFORCE_PP_BASELINE: reinforce_pp_baseline,
}


def _centred(rewards: Sequence[float]) -> list[float]:
    """Distances to the mean; exactly 0 where all are equal."""
    # Not by the mean alone: that of seven times 0.1 is not 0.1 in floating point.
    if max(rewards) == min(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    return [float(reward - mean) for reward in rewards]


def _scaled(centred: Sequence[float]) -> list[float]:
    """Divided by their unbiased std; unchanged where that is 0. centred: sums to 0."""
    # hypot scales before it squares, so that very small and very large rewards do not under- or overflow.
    std = math.hypot(*centred) / math.sqrt(max(1, len(centred) - 1))
    return [value / std for value in centred] if std else list(centred)


def _regrouped(values: Sequence[float], like: Groups) -> Groups:
    rest = iter(values)
    return [[next(rest) for _ in group] for group in like]


def _checked(advantages: Groups, rewards: Groups) -> Groups:
    """What an estimator returned, if it may be trained on."""
    shape = [len(group) for group in rewards]
    found = [len(group) for group in advantages]
    if found != shape:
        raise ValueError(
            f"algorithm.advantage returned groups of sizes {found[:8]} for rewards of sizes {shape[:8]}; it must "
            "return one advantage for each reward"
        )
    for value in (value for group in advantages for value in group):
        if not math.isfinite(value):
            raise ValueError(f"algorithm.advantage returned {value}; advantages must be finite")
    return advantages


def _beside_unscorable(rewards: Sequence[float | None], estimates: Sequence[float]) -> list[float | None]:
    rest = iter(estimates)
    return [None if reward is None else float(next(rest)) for reward in rewards]
