from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.contracts.loss_spec import ClippedLossSpec, SftLossSpec
from trainer.contracts.metric import Reduction
from trainer.losses import (
    LOSSES,
    TokenBatch,
    TokenMetric,
    logit_temperature,
    reduce_metrics,
    token_loss,
)

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/loss.json").read_text())["cases"]}


def plain_clipped(spec: ClippedLossSpec, log_prob: float, old: float, advantage: float) -> tuple[float, float]:
    """(loss, d loss / d log_prob) of one token."""
    ratio = np.exp(log_prob - old)
    bounded = min(max(ratio, 1 - spec.clip_low), 1 + spec.clip_high)
    if bounded * advantage < ratio * advantage:
        return -bounded * advantage, 0.0
    return -ratio * advantage, -ratio * advantage


tokens = st.lists(st.tuples(st.floats(-3, -0.01), st.floats(-3, -0.01), st.floats(-2, 2)), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(tokens=tokens, clip_low=st.floats(0.05, 0.5), clip_high=st.floats(0.05, 0.5))
def test_clipped_loss_equals_the_plain_formula_in_value_and_gradient(tokens, clip_low, clip_high):
    spec = ClippedLossSpec(clip_low=clip_low, clip_high=clip_high)
    new, old, advantages = (torch.tensor(column, dtype=torch.float64) for column in zip(*tokens, strict=True))
    new.requires_grad_()
    result = token_loss(spec, TokenBatch(log_probs=new, old_log_probs=old, advantages=advantages))
    result.losses.sum().backward()
    expected = [plain_clipped(spec, *token) for token in tokens]
    assert result.losses.detach().numpy() == pytest.approx([loss for loss, _ in expected], rel=1e-9, abs=1e-12)
    ratios = np.exp([n - o for n, o, _ in tokens])
    # Exactly at a bound the two branches are equal and either slope is right.
    away = np.min(np.abs(ratios[:, None] - [1 - clip_low, 1 + clip_high]), axis=1) > 1e-9
    assert new.grad.numpy()[away] == pytest.approx(
        np.array([slope for _, slope in expected])[away], rel=1e-9, abs=1e-12
    )


def test_sft_loss_is_the_negative_log_likelihood():
    log_probs = torch.tensor([-0.5, -2.0], requires_grad=True)
    result = token_loss(SftLossSpec(), TokenBatch(log_probs=log_probs, old_log_probs=None, advantages=None))
    result.losses.sum().backward()
    assert result.losses.tolist() == [0.5, 2.0]
    assert log_probs.grad.tolist() == [-1.0, -1.0]


def test_clipped_loss_tells_what_it_clipped():
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.0])
    batch = TokenBatch(
        log_probs=ratio.log(), old_log_probs=torch.zeros(5), advantages=torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    )
    metrics = reduce_metrics(token_loss(ClippedLossSpec(clip_low=0.2, clip_high=0.28), batch).metrics)
    # Only a ratio that already went where its advantage pushes it is clipped: the first and the fourth.
    assert metrics["train/clip_frac"].value == pytest.approx(0.4)
    assert metrics["train/ratio_max"].value == pytest.approx(1.5)
    assert metrics["train/ratio_min"].value == pytest.approx(0.5)
    assert metrics["train/kl"].value == pytest.approx(float((ratio - 1 - ratio.log()).mean()))
    assert metrics["train/log_prob_diff"].value == pytest.approx(float(ratio.log().abs().mean()))


def test_unchanged_policy_has_no_kl_and_nothing_clipped():
    same = torch.tensor([-1.0, -2.0])
    metrics = reduce_metrics(
        token_loss(ClippedLossSpec(), TokenBatch(log_probs=same, old_log_probs=same, advantages=same)).metrics
    )
    assert metrics["train/kl"].value == 0
    assert metrics["train/clip_frac"].value == 0


def test_metrics_of_no_tokens_have_no_value():
    nothing = torch.empty(0)
    metrics = reduce_metrics({"a": TokenMetric(reduction=Reduction.MAX, values=nothing)})
    assert metrics["a"].count == 0
    assert metrics["a"].value is None
    assert reduce_metrics({}) == {}


def test_only_losses_of_rollouts_have_a_temperature():
    assert logit_temperature(SftLossSpec()) == 1.0
    assert logit_temperature(ClippedLossSpec(temperature=0.6)) == 0.6
    assert set(LOSSES) == {SftLossSpec, ClippedLossSpec}


# (token losses, weight per loss token) by sample, as the orchestrator weighs them.
def samples_of(case_id: str) -> list[tuple[list[float], float]]:
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


@pytest.mark.parametrize(
    "case_id",
    ["token-mean-micro-batches", "rollout-mean-split-siblings", "fully-masked-sample", "dr-grpo-constant"],
)
def test_constant_losses_add_up_as_their_weights_say(case_id):
    """Σ loss_scale · loss / step_global_batch_size with loss_scale = size · w, over tokens in any grouping."""
    samples = samples_of(case_id)
    size = len(samples)
    total = 0.0
    for losses, weight in samples:
        log_probs = -torch.tensor(losses)
        result = token_loss(SftLossSpec(), TokenBatch(log_probs=log_probs, old_log_probs=None, advantages=None))
        total += float((result.losses * size * weight).sum()) / size
    assert total == pytest.approx(CASES[case_id]["expect"])
