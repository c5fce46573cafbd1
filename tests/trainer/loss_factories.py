"""Losses with everything that may stand in them, and samples that bring what they read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    IcePopSpec,
    KlEstimator,
    KlTermSpec,
    PolicyLossSpec,
    TisSpec,
)
from trainer.contracts.sample import TrainSample

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/loss.json").read_text())["cases"]}

LOSSES: dict[str, PolicyLossSpec] = {
    "dual clip, entropy": ClippedLossSpec(dual_clip=1.1, entropy_coef=0.05, temperature=0.9),
    "gspo, k2": GspoLossSpec(clip_low=0.02, clip_high=0.03, kl=KlTermSpec(estimator=KlEstimator.K2, coef=0.2)),
    "cispo, k3, tis": CispoLossSpec(
        clip_high=0.2,
        kl=KlTermSpec(estimator=KlEstimator.K3, coef=0.2),
        correction=TisSpec(type="tis", cap=1.1),
        temperature=1.2,
    ),
    "clipped, k1, icepop, entropy": ClippedLossSpec(
        entropy_coef=0.01,
        kl=KlTermSpec(estimator=KlEstimator.K1, coef=0.2),
        correction=IcePopSpec(type="icepop", low=0.7, high=1.5),
    ),
}


def with_log_probs(samples: Sequence[TrainSample], rng: np.random.Generator) -> list[TrainSample]:
    """The samples with log-probs of an engine and a reference that lie near the old ones."""

    def near(one: TrainSample) -> np.ndarray:
        assert one.old_log_probs is not None
        other = one.old_log_probs + rng.normal(0, 0.3, one.num_tokens)
        return np.where(one.loss_mask, other, 0.0).astype(np.float32)

    return [replace(one, engine_log_probs=near(one), reference_log_probs=near(one)) for one in samples]


def samples_of(case_id: str) -> list[tuple[list[float], float]]:
    """(Token losses, weight per loss token) of each sample of a case, as the orchestrator weighs them."""
    given = CASES[case_id]["given"]
    if case_id == "token-mean-micro-batches":
        flat = [one for micro_batch in given["micro_batches"] for one in micro_batch]
        num_tokens = sum(one["tokens"] for one in flat)
        return [([one["loss"]] * one["tokens"], 1 / num_tokens) for one in flat]
    if case_id == "rollout-mean-split-siblings":
        rollouts = given["rollouts"].values()
        totals = [sum(len(sample) for sample in rollout) for rollout in rollouts]
        return [
            (sample, 1 / (given["num_rollouts"] * total))
            for rollout, total in zip(rollouts, totals, strict=True)
            for sample in rollout
        ]
    if case_id == "fully-masked-sample":
        unmasked = [one for one in given["samples"] if one["mask"]]
        num_tokens = sum(one["tokens"] for one in unmasked)
        return [([one["loss_sum"] / one["tokens"]] * one["tokens"], 1 / num_tokens) for one in unmasked] + [([], 0.0)]
    assert case_id == "dr-grpo-constant"
    return [
        ([one["loss_sum"] / 10] * 10, 1 / (len(given["samples"]) * given["constant_tokens"]))
        for one in given["samples"]
    ]
