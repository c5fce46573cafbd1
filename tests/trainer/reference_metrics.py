"""Every metric of a step, by a plain loop over the tokens of unpacked samples: no ranks, micro-batches, merging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tests.trainer import factories
from trainer.contracts.loss_spec import ClippedLossSpec, LossSpec
from trainer.contracts.metric import Metric
from trainer.contracts.sample import TrainSample

# What only a clock can tell.
MEASURED = {"perf/train_tokens_per_s"}


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
    if isinstance(loss, ClippedLossSpec):
        metrics |= {name: (value, step.num_loss_tokens) for name, value in _clipped(model, samples, loss).items()}
    return metrics


def check_metrics(found: Mapping[str, Metric], expected: Mapping[str, tuple[float, float]]) -> None:
    """A metric that the reference does not know fails too: it would be unproven."""
    assert found.keys() - MEASURED == expected.keys()
    for name, (value, weight) in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-5, abs=1e-7), name
        assert found[name].count == weight, name


def _clipped(model: Any, samples: Sequence[TrainSample], loss: ClippedLossSpec) -> dict[str, float]:
    log_ratios, clipped = [], []
    for one in samples:
        log_probs = factories.reference_log_probs(model, one, temperature=loss.temperature)
        for t in np.flatnonzero(one.loss_mask):
            log_ratio = float(log_probs[t]) - float(one.old_log_probs[t])
            ratio, advantage = np.exp(log_ratio), float(one.advantages[t])
            log_ratios.append(log_ratio)
            clipped.append(min(max(ratio, 1 - loss.clip_low), 1 + loss.clip_high) * advantage < ratio * advantage)
    ratios = np.exp(log_ratios)
    return {
        "train/clip_frac": float(np.mean(clipped)),
        "train/kl": float(np.mean(ratios - 1 - np.array(log_ratios))),
        "train/log_prob_diff": float(np.mean(np.abs(log_ratios))),
        "train/log_prob_diff_max": float(np.max(np.abs(log_ratios))),
        "train/ratio_max": float(ratios.max()),
        "train/ratio_min": float(ratios.min()),
    }
