"""From the rewards of a group to advantages. A new estimator is a function and an entry in `ESTIMATORS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from orchestrator.contracts.algorithm_spec import AdvantageEstimator

Estimate = Callable[[Sequence[float]], list[float]]
"""Rewards of a group's scored rollouts, at least two of them different → their advantages."""


def group_advantages(rewards: Sequence[float | None], estimator: AdvantageEstimator) -> tuple[float | None, ...]:
    """The advantage of each rollout of one group; None where the reward is None.

    An unscorable rollout (None) enters no mean: rewards 1, None, 0, 1 under `dr_grpo` have the baseline 2/3 and the
    advantages 1/3, None, −2/3, 1/3. Where all rewards are equal, or there is only one, every advantage is exactly 0.

    Raises:
        ValueError: a reward is NaN or infinite.
    """
    scored = [reward for reward in rewards if reward is not None]
    for reward in scored:
        if not math.isfinite(reward):
            raise ValueError(f"a reward is {reward}; it must be finite, or None when the rollout cannot be judged")
    # Not by a standard deviation: seven times 0.1 has one above 0 in floating point.
    estimates = iter(ESTIMATORS[estimator](scored) if has_variance(rewards) else [0.0] * len(scored))
    return tuple(None if reward is None else next(estimates) for reward in rewards)


def has_variance(rewards: Sequence[float | None]) -> bool:
    """Whether two scored rollouts of the group differ in reward: without it there is nothing to learn."""
    scored = [reward for reward in rewards if reward is not None]
    return bool(scored) and max(scored) != min(scored)


def grpo(rewards: Sequence[float]) -> list[float]:
    """Reward minus mean, divided by std (Shao et al. 2024, section 4.1.2).

    The std is the unbiased one (n − 1). Nothing is added to it: groups without variance never come here.
    """
    centred = dr_grpo(rewards)
    # hypot scales before it squares, so that very small and very large rewards do not under- or overflow.
    std = math.hypot(*centred) / math.sqrt(len(rewards) - 1)
    return [value / std for value in centred] if std else centred


def dr_grpo(rewards: Sequence[float]) -> list[float]:
    """Reward minus mean (Liu et al. 2025): without a division, easy and hard prompts weigh alike."""
    mean = math.fsum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


ESTIMATORS: Mapping[AdvantageEstimator, Estimate] = {
    AdvantageEstimator.GRPO: grpo,
    AdvantageEstimator.DR_GRPO: dr_grpo,
}
