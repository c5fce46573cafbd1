from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.contracts.data_spec import ReasoningGymTask
from orchestrator.contracts.rollout import Prompt
from orchestrator.contracts.rollout_spec import ReasoningGymRewardSpec
from orchestrator.data.task_stream import TaskStream
from orchestrator.rollouts.reward import ReasoningGymReward, WeightedSum, make_reward


class Verifier:
    """Scores every answer alike, or raises."""

    def __init__(self, score: float | Exception) -> None:
        self._score = score
        self.seen: list[str | None] = []

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {}

    def score_answer(self, answer: str | None, entry: Mapping[str, Any]) -> float:
        self.seen.append(answer)
        if isinstance(self._score, Exception):
            raise self._score
        return self._score


def prompt(entry: Mapping[str, Any] | None = None, task: str = "t") -> Prompt:
    return Prompt(prompt_id="p", text="?", token_ids=(1,), answer="", task=task, entry=entry or {})


def reward(score: float | Exception, threshold: float = 1.0) -> ReasoningGymReward:
    return ReasoningGymReward({"t": Verifier(score)}, threshold=threshold)


@pytest.mark.parametrize(
    ("score", "threshold", "expected"),
    [(1.0, 1.0, 1.0), (0.99, 1.0, 0.0), (0.5, 0.5, 1.0), (0.0, 0.5, 0.0), (math.nan, 0.5, None)],
)
def test_the_threshold_makes_right_or_wrong(score: float, threshold: float, expected: float | None) -> None:
    assert reward(score, threshold).score(prompt(), "x") == expected


@pytest.mark.parametrize("error", [ValueError("junk"), ZeroDivisionError(), RecursionError()])
def test_a_verifier_that_fails_makes_the_answer_unscorable(error: Exception) -> None:
    assert reward(error).score(prompt(), "x") is None


def test_answers_are_stripped() -> None:
    verifier = Verifier(1.0)
    ReasoningGymReward({"t": verifier}, threshold=1.0).score(prompt(), " 4 \n")
    assert verifier.seen == ["4"]


def test_rewards_add_up_by_weight_unless_one_cannot_judge() -> None:
    assert WeightedSum([(0.5, reward(1.0)), (2.0, reward(1.0))]).score(prompt(), "x") == 2.5
    assert WeightedSum([(0.5, reward(1.0)), (2.0, reward(ValueError()))]).score(prompt(), "x") is None


@pytest.mark.parametrize("name", ["spell_backward", "chain_sum", "gcd", "prime_factorization", "simple_equations"])
def test_the_real_verifiers_take_the_right_answer_and_nothing_else(name: str) -> None:
    task = ReasoningGymTask(name=name)
    made = make_reward([ReasoningGymRewardSpec(type="reasoning_gym")], [task])
    question = TaskStream([task], seed=0, lower_case=False).draw(0)
    assert question is not None
    asked = prompt(question.entry, task=name)
    assert made.score(asked, question.answer) == 1.0
    assert made.score(asked, f" {question.answer}\n") == 1.0
    assert made.score(asked, "0123456789") in (0.0, None)
    assert made.score(asked, "") in (0.0, None)
