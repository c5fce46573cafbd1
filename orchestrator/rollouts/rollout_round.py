"""Rolls out: take prompts, generate a group for each, judge, filter; again with new prompts if no group survives.

take ──► generate ──► score ──► filter ──► kept groups
  ▲                                │ none
  └──────────── refill ────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.contracts.rollout import (
    Completion,
    Group,
    Prompt,
    PromptSource,
    Reward,
    Rollout,
    RolloutEngine,
    Sampling,
)
from orchestrator.contracts.rollout_spec import FilterSpec, RolloutSpec
from orchestrator.reporting.timekeeper import Timekeeper
from orchestrator.rollouts.advantages import has_variance
from orchestrator.rollouts.group_filter import EmptyDecision, FilteredGroups, decide_when_empty, filter_groups
from orchestrator.seeds import derive_seed
from trainer.contracts.metric import Metric, last, mean
from trainer.contracts.span import Activity

Decode = Callable[[Sequence[int]], str]
"""Token ids of an answer → its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledOut:
    """The rollouts of one iteration, over all its refills."""

    groups: tuple[Group, ...]
    filtered: FilteredGroups
    num_refills: int
    generate_s: float
    num_left_out: int
    """Prompts of the run so far that were longer than allowed, or could not be made."""

    @property
    def num_generated(self) -> int:
        return sum(len(group.rollouts) for group in self.groups)

    def metrics(self) -> dict[str, Metric]:
        """Counted before the filter: what the filter leaves says little of the policy."""
        rollouts = [rollout for group in self.groups for rollout in group.rollouts]
        rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
        count = len(rollouts)
        return {
            "reward/mean": mean(sum(rewards), len(rewards)),
            "reward/zero_variance_frac": mean(sum(map(_has_zero_variance, self.groups)), len(self.groups)),
            "rollout/response_tokens": mean(sum(len(rollout.completion.token_ids) for rollout in rollouts), count),
            "rollout/truncated_frac": mean(sum(rollout.completion.truncated for rollout in rollouts), count),
            "rollout/unscorable_frac": mean(count - len(rewards), count),
            "data/left_out_prompts": last(self.num_left_out),
            "perf/generate_s": mean(self.generate_s, 1),
        }


class Roller:
    """Makes the rollouts of one iteration after the other."""

    def __init__(
        self,
        *,
        source: PromptSource,
        engine: RolloutEngine,
        reward: Reward,
        decode: Decode,
        rollout: RolloutSpec,
        num_prompts: int,
        filter_spec: FilterSpec,
        seed: int,
        obey: Callable[[], None],
        time: Timekeeper,
    ) -> None:
        """obey: called before and after each generation; may wait there, or raise to end the run."""
        self._source = source
        self._engine = engine
        self._reward = reward
        self._decode = decode
        self._rollout = rollout
        self._num_prompts = num_prompts
        self._filter = filter_spec
        self._seed = seed
        self._obey = obey
        self._time = time

    def roll(self, iteration: int, *, num_empty_before: int) -> RolledOut:
        """Roll out until a group survives the filter, or no refill is left.

        num_empty_before: empty iterations in a row before this one.
        """
        groups: list[Group] = []
        generate_s, num_refills = 0.0, 0
        while True:
            prompts = self._source.take(self._num_prompts)
            completions, seconds = self._generate(prompts, derive_seed(self._seed, "rollout", iteration, num_refills))
            generate_s += seconds
            with self._time.phase("score", Activity.SCORE):
                groups += self._judged(prompts, completions)
            filtered = filter_groups(groups, self._filter.zero_variance)
            decision = decide_when_empty(
                num_refills=num_refills, num_empty_before=num_empty_before, filter_spec=self._filter
            )
            if filtered.kept or decision is not EmptyDecision.REFILL:
                break
            num_refills += 1
        return RolledOut(
            groups=tuple(groups),
            filtered=filtered,
            num_refills=num_refills,
            generate_s=generate_s,
            num_left_out=self._source.num_left_out,
        )

    def _generate(self, prompts: Sequence[Prompt], seed: int) -> tuple[Sequence[Completion], float]:
        self._obey()
        stopwatch = self._time.stopwatch()
        with self._time.phase("generate"):
            completions = self._engine.generate(
                [prompt.token_ids for prompt in prompts for _ in range(self._rollout.group_size)],
                Sampling(max_new_tokens=self._rollout.max_new_tokens, temperature=self._rollout.temperature, seed=seed),
            )
        seconds = stopwatch.seconds
        self._time.add(self._engine.take_spans())
        self._obey()
        return completions, seconds

    def _judged(self, prompts: Sequence[Prompt], completions: Sequence[Completion]) -> list[Group]:
        size = self._rollout.group_size
        return [
            Group(
                group_id=prompt.prompt_id,
                prompt=prompt,
                rollouts=tuple(
                    self._judge(prompt, f"{prompt.prompt_id}/{k}", completion)
                    for k, completion in enumerate(completions[i * size : (i + 1) * size])
                ),
            )
            for i, prompt in enumerate(prompts)
        ]

    def _judge(self, prompt: Prompt, rollout_id: str, completion: Completion) -> Rollout:
        text = self._decode(completion.token_ids.tolist())
        return Rollout(rollout_id=rollout_id, completion=completion, text=text, reward=self._reward.score(prompt, text))


def _has_zero_variance(group: Group) -> bool:
    rewards = [rollout.reward for rollout in group.rollouts if rollout.reward is not None]
    return bool(rewards) and not has_variance(rewards)
