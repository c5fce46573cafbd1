"""From prompts and judged rollouts to what a step is made of. Pure; called by the warm start and the loop.

An item becomes one TrainSample when the step's certificate says what it weighs. Several items may be samples of one
rollout: whoever counts rollouts counts ids, never items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.advantages import group_advantages
from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.contracts.rollout import Group, Prompt, Rollout
from orchestrator.loss_weights import loss_scales
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import Certificate
from trainer.contracts.sample import TrainSample


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainItem:
    """A token sequence to train on, with what the record tells of it."""

    shape: SampleShape
    token_ids: npt.NDArray[np.int64]  # [T], prompt and response
    num_prompt_tokens: int
    log_probs: npt.NDArray[np.float32] | None = None  # [R], of the response, by the engine
    reward: float | None = None
    advantage: float | None = None
    policy_version: int
    """Version of the policy that generated it; for a supervised item, the version it trains."""
    age: int = 0
    """Iterations that it has waited since it was generated."""


def num_rollouts(items: Iterable[TrainItem]) -> int:
    """Rollouts that the items are samples of."""
    return len({item.shape.rollout_id for item in items})


def supervised_item(prompt: Prompt, answer_ids: Sequence[int], *, policy_version: int) -> TrainItem:
    """A prompt with its right answer."""
    token_ids = np.array([*prompt.token_ids, *answer_ids], dtype=np.int64)
    return TrainItem(
        shape=_shape(f"{prompt.prompt_id}/answer", prompt, len(answer_ids)),
        token_ids=token_ids,
        num_prompt_tokens=len(prompt.token_ids),
        policy_version=policy_version,
    )


def rollout_items(groups: Iterable[Group], estimator: AdvantageEstimator) -> list[TrainItem]:
    """The rollouts of the groups, each with its advantage within its group."""
    items: list[TrainItem] = []
    for group in groups:
        advantages = group_advantages([rollout.reward for rollout in group.rollouts], estimator)
        items += [
            _rollout_item(group.prompt, rollout, advantage)
            for rollout, advantage in zip(group.rollouts, advantages, strict=True)
        ]
    return items


def train_samples(items: Sequence[TrainItem], certificate: Certificate) -> list[TrainSample]:
    """The samples of one step, in the certificate's order, scaled as it says."""
    scales = loss_scales(certificate, [item.shape for item in items])
    return [_train_sample(item, scale) for item, scale in zip(items, scales, strict=True)]


def _rollout_item(prompt: Prompt, rollout: Rollout, advantage: float | None) -> TrainItem:
    completion = rollout.completion
    return TrainItem(
        shape=_shape(rollout.rollout_id, prompt, len(completion.token_ids)),
        token_ids=np.concatenate([np.array(prompt.token_ids, dtype=np.int64), completion.token_ids]),
        num_prompt_tokens=len(prompt.token_ids),
        log_probs=completion.log_probs,
        reward=rollout.reward,
        advantage=advantage,
        policy_version=completion.policy_version,
    )


def _shape(rollout_id: str, prompt: Prompt, num_response_tokens: int) -> SampleShape:
    return SampleShape(
        sample_id=rollout_id,
        rollout_id=rollout_id,
        group_id=prompt.prompt_id,
        num_tokens=len(prompt.token_ids) + num_response_tokens,
        num_loss_tokens=num_response_tokens,
    )


def _train_sample(item: TrainItem, loss_scale: float) -> TrainSample:
    response = slice(item.num_prompt_tokens, None)
    loss_mask = np.zeros(len(item.token_ids), dtype=np.bool_)
    loss_mask[response] = True
    return TrainSample(
        token_ids=item.token_ids,
        loss_mask=loss_mask,
        loss_scale=loss_scale,
        advantages=None if item.advantage is None else _on_response(item, np.float32(item.advantage)),
        old_log_probs=None if item.log_probs is None else _on_response(item, item.log_probs),
    )


def _on_response(item: TrainItem, values: npt.NDArray[np.float32] | np.float32) -> npt.NDArray[np.float32]:
    """[T] with `values` on the response and 0 on the prompt."""
    whole = np.zeros(len(item.token_ids), dtype=np.float32)
    whole[item.num_prompt_tokens :] = values
    return whole
