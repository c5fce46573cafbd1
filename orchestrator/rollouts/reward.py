"""Judges of answers. A verifier that fails makes one rollout unscorable; it never ends the run.

Built by main.py, called by the rollout round. A new kind of reward is a class here and an entry in `make_reward`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence

from orchestrator.contracts.data_spec import ReasoningGymTask
from orchestrator.contracts.rollout import Prompt, Reward
from orchestrator.contracts.rollout_spec import ReasoningGymRewardSpec
from orchestrator.data.tasks import Task, make_task, task_labels

_log = logging.getLogger(__name__)


class ReasoningGymReward:
    """The verifier of the task that made the prompt: 1 when its score reaches the threshold, else 0."""

    def __init__(self, verifiers: Mapping[str, Task], *, threshold: float) -> None:
        self._verifiers = verifiers
        self._threshold = threshold

    def score(self, prompt: Prompt, text: str) -> float | None:
        """The reward of an answer, or None when the verifier fails."""
        try:
            # Stripped, because some verifiers give less for a space that nobody sees.
            score = self._verifiers[prompt.task].score_answer(text.strip(), prompt.entry)
        except Exception:
            # Verifiers parse whatever a model writes, and some trip over it.
            _log.info("the verifier of %s failed on %r", prompt.task, text, exc_info=True)
            return None
        return None if math.isnan(score) else float(score >= self._threshold)


class WeightedSum:
    """Several rewards of one answer, added by weight. One that cannot judge leaves the answer unjudged."""

    def __init__(self, parts: Sequence[tuple[float, Reward]]) -> None:
        self._parts = parts

    def score(self, prompt: Prompt, text: str) -> float | None:
        total = 0.0
        for weight, reward in self._parts:
            if (score := reward.score(prompt, text)) is None:
                return None
            total += weight * score
        return total


def make_reward(specs: Sequence[ReasoningGymRewardSpec], tasks: Sequence[ReasoningGymTask]) -> Reward:
    """The reward that a run asks for."""
    verifiers = {label: make_task(task, seed=0) for label, task in zip(task_labels(tasks), tasks, strict=True)}
    return WeightedSum([(spec.weight, ReasoningGymReward(verifiers, threshold=spec.threshold)) for spec in specs])
