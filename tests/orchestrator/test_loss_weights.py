from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.loss_weights import certify, loss_scales
from orchestrator.sample_shape import SampleShape
from tests.orchestrator.factories import aggregations, case, sample_shapes, shapes_of_an_iteration
from trainer.contracts.certificate import LossAggregation


def step_loss(
    samples: Sequence[SampleShape],
    loss_sums: Sequence[float],
    mode: str,
    *,
    constant_tokens: int | None = None,
) -> float:
    """What a trainer computes: 1/step_global_batch_size · Σ_i s_i · (loss sum of sample i)."""
    certificate = certify(samples, loss_aggregation=LossAggregation(mode), constant_tokens=constant_tokens)
    scales = loss_scales(certificate, samples)
    return sum(s * loss_sum for s, loss_sum in zip(scales, loss_sums, strict=True)) / len(samples)


def slow_weights(
    samples: Sequence[SampleShape], *, loss_aggregation: LossAggregation, constant_tokens: int | None
) -> list[Fraction]:
    """The words of each aggregation, taken one by one."""
    owner_of = {
        LossAggregation.TOKEN_MEAN: lambda sample: "the step",
        LossAggregation.SAMPLE_MEAN: lambda sample: sample.sample_id,
        LossAggregation.ROLLOUT_MEAN: lambda sample: sample.rollout_id,
        LossAggregation.PROMPT_MEAN: lambda sample: sample.group_id,
    }
    trained = [sample for sample in samples if sample.num_loss_tokens]
    weights = []
    for sample in samples:
        if not sample.num_loss_tokens:
            weights.append(Fraction(0))
        elif loss_aggregation is LossAggregation.CONSTANT:
            assert constant_tokens is not None
            weights.append(Fraction(sample.num_loss_tokens, len(trained) * constant_tokens))
        else:
            owner = owner_of[loss_aggregation]
            tokens = sum(other.num_loss_tokens for other in trained if owner(other) == owner(sample))
            weights.append(Fraction(sample.num_loss_tokens, tokens) / len({owner(other) for other in trained}))
    return weights


def test_token_mean_has_one_denominator_for_the_whole_step() -> None:
    entry = case("loss", "token-mean-micro-batches")
    parts = [part for micro_batch in entry["given"]["micro_batches"] for part in micro_batch]
    samples = sample_shapes([part["tokens"] for part in parts])
    sums = [part["tokens"] * part["loss"] for part in parts]
    assert step_loss(samples, sums, entry["given"]["mode"]) == pytest.approx(entry["expect"], rel=1e-15)


def test_token_mean_holds_on_uneven_ranks() -> None:
    entry = case("loss", "token-mean-uneven-dp")
    tokens, sums = zip(*entry["given"]["rank_sums"], strict=True)
    assert step_loss(sample_shapes(tokens), sums, entry["given"]["mode"]) == pytest.approx(entry["expect"], rel=1e-15)


def test_samples_of_one_rollout_share_a_denominator() -> None:
    entry = case("loss", "rollout-mean-split-siblings")
    parts = [(name, losses) for name, rollout in entry["given"]["rollouts"].items() for losses in rollout]
    samples = sample_shapes([len(losses) for _, losses in parts], rollouts=[name for name, _ in parts])
    sums = [sum(losses) for _, losses in parts]
    assert step_loss(samples, sums, entry["given"]["mode"]) == pytest.approx(entry["expect"], rel=1e-15)


def test_the_divisor_is_the_actual_size_of_the_step() -> None:
    entry = case("loss", "megatron-scaling-variable-batch")
    # The 0 of the case is a dummy: it is no sample, and so in no denominator.
    sums = [loss for rank in entry["given"]["contributions"] for loss in rank if loss]
    samples = sample_shapes([1] * entry["given"]["step_global_batch_size"])
    assert step_loss(samples, sums, entry["given"]["mode"]) == pytest.approx(entry["expect"], rel=1e-15)


def test_a_masked_sample_adds_nothing_to_the_denominator() -> None:
    entry = case("loss", "fully-masked-sample")
    given_ = entry["given"]["samples"]
    samples = sample_shapes(
        [sample["tokens"] for sample in given_],
        num_loss_tokens=[sample["tokens"] * sample["mask"] for sample in given_],
    )
    sums = [sample.get("loss_sum", 0) for sample in given_]
    assert step_loss(samples, sums, entry["given"]["mode"]) == pytest.approx(entry["expect"], rel=1e-15)


@pytest.mark.parametrize("loss_aggregation", LossAggregation)
def test_a_step_without_loss_tokens_weighs_nothing(loss_aggregation: LossAggregation) -> None:
    given_ = case("loss", "whole-step-masked")["given"]["samples"]
    samples = sample_shapes([sample["tokens"] for sample in given_], num_loss_tokens=[0] * len(given_))
    certificate = certify(samples, loss_aggregation=loss_aggregation, constant_tokens=10)
    assert certificate.total == 0
    assert certificate.problem() is None
    assert loss_scales(certificate, samples) == (0.0,) * len(samples)


def test_constant_divides_by_samples_times_the_constant() -> None:
    entry = case("loss", "dr-grpo-constant")
    given_ = entry["given"]
    sums = [sample["loss_sum"] for sample in given_["samples"]]
    loss = step_loss(sample_shapes([7, 90]), sums, given_["mode"], constant_tokens=given_["constant_tokens"])
    assert loss == pytest.approx(entry["expect"], rel=1e-15)


@pytest.mark.parametrize("constant_tokens", [None, 0, -1])
def test_constant_needs_its_constant(constant_tokens: int | None) -> None:
    with pytest.raises(ValueError, match=r"algorithm\.constant_tokens"):
        certify(sample_shapes([1]), loss_aggregation=LossAggregation.CONSTANT, constant_tokens=constant_tokens)


def test_a_sample_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        certify(sample_shapes([1]) * 2, loss_aggregation=LossAggregation.TOKEN_MEAN, constant_tokens=None)


@given(shapes_of_an_iteration(), aggregations())
def test_weights_are_what_the_aggregation_says(samples: list[SampleShape], aggregation: dict[str, Any]) -> None:
    certificate = certify(samples, **aggregation)
    assert list(certificate.weights) == slow_weights(samples, **aggregation)
    assert certificate.sample_ids == tuple(sample.sample_id for sample in samples)


@given(shapes_of_an_iteration(), aggregations())
def test_weights_sum_to_exactly_one(samples: list[SampleShape], aggregation: dict[str, Any]) -> None:
    certificate = certify(samples, **aggregation)
    assert certificate.problem() is None
    if aggregation["loss_aggregation"].sums_to_one:
        assert certificate.total == (1 if any(sample.num_loss_tokens for sample in samples) else 0)


@given(shapes_of_an_iteration())
def test_each_rollout_weighs_the_same_under_rollout_mean(samples: list[SampleShape]) -> None:
    certificate = certify(samples, loss_aggregation=LossAggregation.ROLLOUT_MEAN, constant_tokens=None)
    shares: dict[str, Fraction] = {}
    for sample, weight in zip(samples, certificate.weights, strict=True):
        shares[sample.rollout_id] = shares.get(sample.rollout_id, Fraction(0)) + weight
    counted = [share for share in shares.values() if share]
    assert all(share * len(counted) == 1 for share in counted)


@given(shapes_of_an_iteration(), aggregations(), st.integers(0, 2**32))
def test_the_order_of_samples_changes_neither_weights_nor_hash(
    samples: list[SampleShape], aggregation: dict[str, Any], seed: int
) -> None:
    shuffled = Random(seed).sample(samples, len(samples))
    one, other = certify(samples, **aggregation), certify(shuffled, **aggregation)
    assert dict(zip(one.sample_ids, one.weights, strict=True)) == dict(
        zip(other.sample_ids, other.weights, strict=True)
    )
    assert one.sha256 == other.sha256


@given(shapes_of_an_iteration(), aggregations())
def test_the_hash_tells_another_step(samples: list[SampleShape], aggregation: dict[str, Any]) -> None:
    added = SampleShape(sample_id="new", rollout_id="new", group_id="new", num_tokens=5, num_loss_tokens=5)
    assert certify(samples, **aggregation).sha256 != certify([*samples, added], **aggregation).sha256


@given(shapes_of_an_iteration(), aggregations())
def test_scales_give_the_weights_back(samples: list[SampleShape], aggregation: dict[str, Any]) -> None:
    certificate = certify(samples, **aggregation)
    scales = loss_scales(certificate, samples)
    for sample, scale, weight in zip(samples, scales, certificate.weights, strict=True):
        assert scale * sample.num_loss_tokens / len(samples) == pytest.approx(float(weight), rel=1e-14)
