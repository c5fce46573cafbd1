"""Builders for the trainer's tests: small specs, samples, schedules, and a plain reference of a training step.

The reference is a transformers model and a loop over unpacked samples: no packing, no micro-batches, no Megatron.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.trainer.plain_losses import PlainSample, plain_losses
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.loss_spec import ClippedLossSpec, LossSpec, PolicyLossSpec
from trainer.contracts.model_spec import ScratchModelSpec
from trainer.contracts.optimizer_spec import LrScheduleSpec, OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.contracts.trainer_spec import PhaseSpec, TrainerSpec

CLIPPED = ClippedLossSpec()

VOCAB_SIZE = 301  # odd, so that tensor parallelism has to pad it


def model_spec(**changes: Any) -> ScratchModelSpec:
    values = {
        "type": "scratch",
        "num_layers": 2,
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_query_groups": 2,
        "ffn_hidden_size": 48,
        "vocab_size": VOCAB_SIZE,
    }
    return ScratchModelSpec(**{**values, **changes})


def trainer_spec(*, seed: int = 3, model: Any = None, **parallelism: Any) -> TrainerSpec:
    return TrainerSpec(model=model or model_spec(), parallelism=ParallelismSpec(**parallelism), seed=seed)


def phase(
    loss: LossSpec, *, lr: float = 1e-3, clip_grad: float = 0.0, measure_noise: bool = False, **lr_schedule: Any
) -> PhaseSpec:
    optimizer = OptimizerSpec(lr=lr, clip_grad=clip_grad, lr_schedule=LrScheduleSpec(**lr_schedule))
    keeps_reference = isinstance(loss, PolicyLossSpec) and loss.kl is not None
    return PhaseSpec(optimizer=optimizer, loss=loss, keeps_reference=keeps_reference, measure_noise=measure_noise)


def sample(
    rng: np.random.Generator, *, prompt: int = 3, response: int = 4, loss_scale: float = 0.25, **changes: Any
) -> TrainSample:
    """A prompt without loss, a response with loss, and rollout data that lies near the initial policy."""
    length = prompt + response
    mask = np.arange(length) >= prompt
    values = {
        "token_ids": rng.integers(0, VOCAB_SIZE, length),
        "loss_mask": mask,
        "loss_scale": loss_scale,
        "advantages": np.where(mask, rng.normal(), 0.0).astype(np.float32),
        "old_log_probs": np.where(mask, rng.normal(-5.7, 0.3, length), 0.0).astype(np.float32),
    }
    return TrainSample(**{**values, **changes})


def samples(rng: np.random.Generator, count: int) -> list[TrainSample]:
    """Of different lengths and weights."""
    return [
        sample(
            rng,
            prompt=int(rng.integers(1, 12)),
            response=int(rng.integers(1, 20)),
            loss_scale=float(rng.uniform(0.05, 1.0)),
        )
        for _ in range(count)
    ]


def schedule(*steps: Sequence[Sequence[Sequence[int]]]) -> DpSchedule:
    """A DpSchedule from micro-batches of sample indices: schedule(step, …), step[dp_rank][k] = [sample, …]."""
    partitions: list[list[int]] = [[] for _ in steps[0]]
    indices: list[list[tuple[int, ...]]] = [[] for _ in steps[0]]
    for step in steps:
        for dp_rank, micro_batches in enumerate(step):
            for micro_batch in micro_batches:
                first = len(partitions[dp_rank])
                partitions[dp_rank].extend(micro_batch)
                indices[dp_rank].append(tuple(range(first, first + len(micro_batch))))
    sizes = [sum(len(micro_batch) for rank in step for micro_batch in rank) for step in steps]
    return DpSchedule(
        partitions=tuple(map(tuple, partitions)),
        micro_batch_indices=tuple(map(tuple, indices)),
        num_microbatches=tuple(len(step[0]) for step in steps),
        global_batch_sizes=tuple(sizes),
        certificates=tuple(certificate(size) for size in sizes),
    )


def certificate(num_samples: int) -> Certificate:
    return Certificate(
        loss_aggregation=LossAggregation.SAMPLE_MEAN,
        sample_ids=tuple(str(i) for i in range(num_samples)),
        weights=(Fraction(1, num_samples),) * num_samples,
    )


def random_step(rng: np.random.Generator, num_samples: int, *, dp: int) -> list[list[list[int]]]:
    """A random cut of a step: any order, uneven ranks, dummies where a rank has fewer micro-batches."""
    order = rng.permutation(num_samples)
    owner = rng.integers(0, dp, num_samples)
    ranks = []
    for dp_rank in range(dp):
        mine = order[owner == dp_rank]
        cuts = np.sort(rng.integers(0, len(mine) + 1, int(rng.integers(0, 4))))
        ranks.append([part.tolist() for part in np.split(mine, cuts)])
    most = max(len(rank) for rank in ranks)
    return [rank + [[]] * (most - len(rank)) for rank in ranks]


def lone_rank(spec: TrainerSpec) -> Any:
    """A MegatronRank that is a whole trainer by itself, in this process."""
    from trainer.rank import MegatronRank

    rank = MegatronRank(spec, rank=0, device_type="cpu", num_threads=1, collective_timeout_s=20)
    port = rank.open_store("127.0.0.1")
    rank.join("127.0.0.1", port)
    return rank


def train_alone(
    rank: Any, samples: Sequence[TrainSample], schedule: DpSchedule, *, loss: LossSpec = CLIPPED
) -> list[Any]:
    """Train on a lone rank; its reports, one for each step."""
    from trainer.shard import make_shards

    (shard,) = make_shards(samples, schedule, loss=loss, vocab_size=VOCAB_SIZE)
    return list(rank.train(shard))


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a plain loop finds for one step."""

    loss: float
    gradients: dict[str, np.ndarray]
    grad_norm: float
    entropy: float
    num_loss_tokens: int


def reference_model(hf_config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> Any:
    config = AutoConfig.for_model(**{key: value for key, value in hf_config.items() if key != "architectures"})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float()
    state = {name: torch.tensor(tensor) for name, tensor in weights.items()}
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert set(missing) <= {"lm_head.weight"}, missing
    model.tie_weights()
    return model


def reference_step(model: Any, samples: Sequence[TrainSample], loss: LossSpec) -> Reference:
    """The step's loss and gradient: one sample at a time, one token at a time."""
    model.zero_grad()
    total, entropies = torch.zeros((), dtype=torch.float64), []
    for one in samples:
        plain = plain_sample(model, one, temperature=logit_temperature(loss))
        entropies += [float(entropy.detach()) for entropy in plain.entropies]
        for token_loss in plain_losses(loss, plain):
            total = total + one.loss_scale * token_loss.double()
    total = total / len(samples)
    total.backward()
    gradients = {name: parameter.grad.numpy().copy() for name, parameter in model.named_parameters()}
    return Reference(
        loss=float(total.detach()),
        gradients=gradients,
        grad_norm=float(np.sqrt(sum((gradient.astype(np.float64) ** 2).sum() for gradient in gradients.values()))),
        entropy=float(np.mean(entropies)),
        num_loss_tokens=len(entropies),
    )


def reference_log_probs(model: Any, one: TrainSample, *, temperature: float = 1.0) -> np.ndarray:
    """[T] log p(token t | before), 0 outside the mask."""
    with torch.no_grad():
        log_probs = torch.log_softmax(_logits(model, one) / temperature, dim=-1)
    result = np.zeros(one.num_tokens, dtype=np.float32)
    for t in np.flatnonzero(one.loss_mask):
        result[t] = log_probs[t - 1, one.token_ids[t]]
    return result


def gradient_errors(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Relative error of each tensor, ‖found − expected‖ / ‖expected‖, and of all as one vector under ""."""
    assert found.keys() == expected.keys()
    errors = {name: _relative(found[name], expected[name]) for name in expected}
    flat = [np.concatenate([np.ravel(side[name]) for name in sorted(expected)]) for side in (found, expected)]
    return {**errors, "": _relative(*flat)}


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def _logits(model: Any, one: TrainSample) -> torch.Tensor:
    return model(input_ids=torch.tensor(one.token_ids)[None], use_cache=False).logits[0]


def logit_temperature(loss: LossSpec) -> float:
    return loss.temperature if isinstance(loss, PolicyLossSpec) else 1.0


def plain_sample(model: Any, one: TrainSample, *, temperature: float) -> PlainSample:
    """A sample's loss tokens, by a plain model; row t − 1 of its logits predicts token t."""
    log_probs = torch.log_softmax(_logits(model, one) / temperature, dim=-1)  # [T, V]
    loss_tokens = np.flatnonzero(one.loss_mask)
    rows = [log_probs[t - 1] for t in loss_tokens]

    def given(name: str) -> list[float]:
        array = getattr(one, name)
        return [] if array is None else [float(array[t]) for t in loss_tokens]

    return PlainSample(
        log_probs=[row[one.token_ids[t]] for row, t in zip(rows, loss_tokens, strict=True)],
        entropies=[-(row.exp() * row).sum() for row in rows],
        advantage=next(iter(given("advantages")), 0.0),
        old=given("old_log_probs"),
        engine=given("engine_log_probs"),
        reference=given("reference_log_probs"),
    )
