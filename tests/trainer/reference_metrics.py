"""Every metric of a step, by a plain loop over the tokens of unpacked samples: no ranks, micro-batches, merging."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from tests.trainer import factories
from tests.trainer.plain_losses import PlainSample, plain_correction, plain_kl, plain_losses
from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    LossSpec,
    PolicyLossSpec,
    TisSpec,
)
from trainer.contracts.metric import Metric
from trainer.contracts.sample import TrainSample

# What the clock and the layout make different.
MEASURED = {"perf/train_tokens_per_s", "perf/padding_frac", "perf/peak_memory_bytes"}


def reference_metrics(
    model: Any, samples: Sequence[TrainSample], loss: LossSpec, *, lr: float
) -> dict[str, tuple[float, float]]:
    """(value, weight) of each metric."""
    step = factories.reference_step(model, samples, loss)
    metrics = {
        "train/loss": (step.loss, len(samples)),
        "train/entropy": (step.entropy, step.num_loss_tokens),
        "train/grad_norm": (step.grad_norm, 1),
        "train/lr": (lr, 1),
    }
    return metrics | (_policy(model, samples, loss) if isinstance(loss, PolicyLossSpec) else {})


def check_metrics(found: Mapping[str, Metric], expected: Mapping[str, tuple[float, float]]) -> None:
    """A metric that the reference does not know fails too: it would be unproven."""
    assert found.keys() - MEASURED == expected.keys()
    for name, (value, weight) in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-5, abs=1e-7), name
        assert found[name].count == weight, name


@dataclass(frozen=True, kw_only=True)
class _Token:
    """One loss token and what its sample lends it."""

    log_ratio: float
    """log p_new − log p_old, of the token."""
    ratio: float
    """What the loss clips: the token's, or under GSPO its sample's."""
    advantage: float
    engine_diff: float
    weight: float
    """By which its policy loss is corrected."""
    kl: float
    parts: Mapping[str, float]


def _policy(model: Any, samples: Sequence[TrainSample], loss: PolicyLossSpec) -> dict[str, tuple[float, float]]:
    tokens: list[_Token] = []
    totals: dict[str, float] = {}
    for one in samples:
        plain = factories.plain_sample(model, one, temperature=loss.temperature)
        of_sample = [_token(loss, plain, t) for t in range(len(plain.log_probs))]
        tokens += of_sample
        for token in of_sample:
            for name, part in token.parts.items():
                totals[name] = totals.get(name, 0.0) + one.loss_scale * part
    count = len(tokens)
    diffs = [token.engine_diff for token in tokens]
    found = {
        "train/clip_frac": np.mean([_is_clipped(loss, token) for token in tokens]),
        "train/kl": np.mean([math.exp(token.log_ratio) - 1 - token.log_ratio for token in tokens]),
        "train/log_prob_diff": np.mean(diffs),
        "train/log_prob_diff_max": max(diffs),
        "train/ratio_max": max(token.ratio for token in tokens),
        "train/ratio_min": min(token.ratio for token in tokens),
    }
    if isinstance(loss, ClippedLossSpec) and loss.dual_clip is not None:
        most = max(loss.dual_clip, 1 - loss.clip_low)
        found["train/dual_clip_frac"] = np.mean([t.advantage < 0 and t.ratio > most for t in tokens])
    if loss.correction is not None:
        weights = [token.weight for token in tokens]
        corrected = loss.correction.cap if isinstance(loss.correction, TisSpec) else 0.0
        found["train/correction_mean"] = np.mean(weights)
        found["train/correction_frac"] = np.mean([weight == corrected for weight in weights])
    if loss.kl is not None:
        found["train/kl_reference"] = np.mean([token.kl for token in tokens])
    parts = {name: (total / len(samples), len(samples)) for name, total in totals.items()} if len(totals) > 1 else {}
    return {name: (float(value), count) for name, value in found.items()} | parts


def _token(loss: PolicyLossSpec, plain: PlainSample, t: int) -> _Token:
    new, old = ([float(value) for value in values] for values in (_detached(plain.log_probs), plain.old))
    log_ratios = [a - b for a, b in zip(new, old, strict=True)]
    log_ratio = float(np.mean(log_ratios)) if isinstance(loss, GspoLossSpec) else log_ratios[t]
    trainers = old[t] if plain.engine else new[t]
    engines = plain.engine[t] if plain.engine else old[t]
    weight = plain_correction(loss.correction, old[t], plain.engine[t]) if loss.correction else 1.0
    kl = float(plain_kl(loss.kl.estimator, _detached(plain.log_probs)[t], plain.reference[t])) if loss.kl else 0.0
    alone = loss.model_copy(update={"entropy_coef": 0.0, "kl": None})
    parts = {"train/policy_loss": float(plain_losses(alone, plain)[t].detach())}
    if loss.kl is not None:
        parts["train/kl_loss"] = loss.kl.coef * kl
    if loss.entropy_coef:
        parts["train/entropy_loss"] = -loss.entropy_coef * float(plain.entropies[t].detach())
    return _Token(
        log_ratio=log_ratios[t],
        ratio=math.exp(log_ratio),
        advantage=plain.advantage,
        engine_diff=abs(trainers - engines),
        weight=weight,
        kl=kl,
        parts=parts,
    )


def _is_clipped(loss: PolicyLossSpec, token: _Token) -> bool:
    assert isinstance(loss, ClippedLossSpec | GspoLossSpec | CispoLossSpec)
    low = 0.0 if loss.clip_low is None else 1 - loss.clip_low
    bounded = min(max(token.ratio, low), 1 + loss.clip_high)
    if isinstance(loss, CispoLossSpec):
        return bounded != token.ratio
    return bounded * token.advantage < token.ratio * token.advantage


def _detached(values: Sequence[Tensor]) -> list[Tensor]:
    return [value.detach() for value in values]
