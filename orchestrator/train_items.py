"""From prompts and judged rollouts to what a step is made of. Pure; called by the warm start and the loop.

An item becomes one TrainSample when the step's certificate says what it weighs. Several items may be samples of one
rollout: whoever counts rollouts counts ids, never items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.algorithm_spec import RewardKlSpec
from orchestrator.contracts.rollout import Group, Prompt, Rollout
from orchestrator.loss_weights import loss_scales
from orchestrator.rollouts.advantages import Estimate, iteration_advantages
from orchestrator.rollouts.kl_penalty import kl_of_rollout
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import Certificate
from trainer.contracts.metric import Metric, mean
from trainer.contracts.sample import TrainSample


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainItem:
    """A token sequence to train on, with what the record tells of it."""

    shape: SampleShape
    token_ids: npt.NDArray[np.int64]  # [T], prompt and response
    num_prompt_tokens: int
    log_probs: npt.NDArray[np.float32] | None = None  # [R], of the response, by the engine
    trainer_log_probs: npt.NDArray[np.float32] | None = None  # [R], of the same policy, by the trainer
    reference_log_probs: npt.NDArray[np.float32] | None = None  # [R], by the frozen reference
    reward: float | None = None
    advantage: float | None = None
    policy_version: int
    """Version of the policy that generated it; for a supervised item, the version it trains."""
    age: int = 0
    """Iterations that it has waited since it was generated."""
    is_recorded: bool = False
    """Whether its rollout is told to the server one by one."""


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


def rollout_items(groups: Iterable[Group]) -> list[TrainItem]:
    """The rollouts of the groups, group by group, still without advantages."""
    return [_rollout_item(group.prompt, rollout) for group in groups for rollout in group.rollouts]


def with_advantages(
    items: Sequence[TrainItem], estimate: Estimate, *, kl: RewardKlSpec | None = None
) -> tuple[list[TrainItem], dict[str, Metric]]:
    """All items of an iteration with the advantages of their rollouts, which the samples of a rollout share.

    kl: what is taken from the rewards first; every item then has the reference's log-probs.

    Returns the items in their order, and metrics of what was taken.
    """
    rewards = {item.shape.rollout_id: item.reward for item in items}
    metrics: dict[str, Metric] = {}
    if kl is not None:
        distances = _distances(items, kl)
        rewards = {
            rollout: None if reward is None else reward - kl.coef * distances[rollout]
            for rollout, reward in rewards.items()
        }
        metrics["reward/kl_reference"] = mean(sum(distances.values()), len(distances))
    groups: dict[str, dict[str, float | None]] = {}
    for item in items:
        groups.setdefault(item.shape.group_id, {})[item.shape.rollout_id] = rewards[item.shape.rollout_id]
    found = iteration_advantages([list(group.values()) for group in groups.values()], estimate)
    advantages = {
        rollout: advantage
        for group, of_group in zip(groups.values(), found, strict=True)
        for rollout, advantage in zip(group, of_group, strict=True)
    }
    return [replace(item, advantage=advantages[item.shape.rollout_id]) for item in items], metrics


def _distances(items: Sequence[TrainItem], kl: RewardKlSpec) -> dict[str, float]:
    """KL(generating policy ‖ reference) of each rollout, in nats."""
    distances: dict[str, float] = {}
    for item in items:
        log_probs = item.log_probs if item.trainer_log_probs is None else item.trainer_log_probs
        assert log_probs is not None
        assert item.reference_log_probs is not None
        distance = kl_of_rollout(kl.estimator, log_probs, item.reference_log_probs)
        distances[item.shape.rollout_id] = distances.get(item.shape.rollout_id, 0.0) + distance
    return distances


def scoring_samples(items: Sequence[TrainItem]) -> list[TrainSample]:
    """The items for a pass that only asks for log-probs of their responses."""
    return [_train_sample(item, loss_scale=0.0) for item in items]


def with_log_probs(
    items: Sequence[TrainItem],
    *,
    trainer: Sequence[npt.NDArray[np.float32]] | None,
    reference: Sequence[npt.NDArray[np.float32]] | None,
) -> list[TrainItem]:
    """The items with what such passes found, [T] for each item; None where there was no such pass."""

    def response(found: Sequence[npt.NDArray[np.float32]] | None, i: int) -> npt.NDArray[np.float32] | None:
        return None if found is None else found[i][items[i].num_prompt_tokens :]

    return [
        replace(item, trainer_log_probs=response(trainer, i), reference_log_probs=response(reference, i))
        for i, item in enumerate(items)
    ]


def train_samples(items: Sequence[TrainItem], certificate: Certificate) -> list[TrainSample]:
    """The samples of one step, in the certificate's order, scaled as it says."""
    scales = loss_scales(certificate, [item.shape for item in items])
    return [_train_sample(item, scale) for item, scale in zip(items, scales, strict=True)]


def _rollout_item(prompt: Prompt, rollout: Rollout) -> TrainItem:
    completion = rollout.completion
    return TrainItem(
        shape=_shape(rollout.rollout_id, prompt, len(completion.token_ids)),
        token_ids=np.concatenate([np.array(prompt.token_ids, dtype=np.int64), completion.token_ids]),
        num_prompt_tokens=len(prompt.token_ids),
        log_probs=completion.log_probs,
        reward=rollout.reward,
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
    # With log-probs of the trainer's own, the engine's are only what they are compared with.
    own = item.trainer_log_probs
    old, engine = (item.log_probs, None) if own is None else (own, item.log_probs)
    return TrainSample(
        token_ids=item.token_ids,
        loss_mask=loss_mask,
        loss_scale=loss_scale,
        advantages=_on_response(item, None if item.advantage is None else np.float32(item.advantage)),
        old_log_probs=_on_response(item, old),
        engine_log_probs=_on_response(item, engine),
        reference_log_probs=_on_response(item, item.reference_log_probs),
    )


def _on_response(
    item: TrainItem, values: npt.NDArray[np.float32] | np.float32 | None
) -> npt.NDArray[np.float32] | None:
    """[T] with `values` on the response and 0 on the prompt; None where there are none."""
    if values is None:
        return None
    whole = np.zeros(len(item.token_ids), dtype=np.float32)
    whole[item.num_prompt_tokens :] = values
    return whole
