from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.trainer.loss_factories import CASES, samples_of
from tests.trainer.plain_losses import PlainSample, plain_correction, plain_kl, plain_losses
from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    IcePopSpec,
    KlEstimator,
    KlTermSpec,
    LossSpec,
    PolicyLossSpec,
    PythonLossSpec,
    SftLossSpec,
    TisSpec,
)
from trainer.contracts.metric import Reduction
from trainer.contracts.python_function import PythonFunction
from trainer.losses.table import LOSSES, logit_temperature, token_loss
from trainer.losses.terms import correction_weights, kl_estimate
from trainer.losses.token_batch import TokenBatch, TokenLoss, TokenMetric, no_tokens, reduce_metrics

KL = KlTermSpec(coef=0.3)
SPECS: dict[str, LossSpec] = {
    "sft": SftLossSpec(),
    "clipped": ClippedLossSpec(clip_low=0.1, clip_high=0.28),
    "dual clip": ClippedLossSpec(dual_clip=1.5),
    "gspo": GspoLossSpec(clip_low=0.05, clip_high=0.1),
    "cispo": CispoLossSpec(clip_high=0.2),
    "cispo, both bounds": CispoLossSpec(clip_low=0.2, clip_high=0.2),
    "entropy": ClippedLossSpec(entropy_coef=0.1),
    "kl k1": ClippedLossSpec(kl=KlTermSpec(estimator=KlEstimator.K1, coef=0.2)),
    "kl k2": GspoLossSpec(kl=KlTermSpec(estimator=KlEstimator.K2, coef=0.2)),
    "kl k3": CispoLossSpec(kl=KlTermSpec(estimator=KlEstimator.K3, coef=0.2)),
    "tis": ClippedLossSpec(correction=TisSpec(type="tis", cap=1.2)),
    "icepop": ClippedLossSpec(correction=IcePopSpec(type="icepop", low=0.8, high=1.25)),
    "all terms": CispoLossSpec(entropy_coef=0.01, kl=KL, correction=TisSpec(type="tis", cap=1.1)),
}


def random_samples(seed: int, *, spread: float = 0.4) -> list[PlainSample]:
    """Of 1 to 6 loss tokens; the four log-probs of a token differ as policies some updates apart do."""
    rng = np.random.default_rng(seed)
    samples = []
    for length in rng.integers(1, 7, int(rng.integers(1, 5))):
        log_probs = rng.uniform(-3, -0.1, length)
        others = [log_probs + rng.normal(0, spread, length) for _ in range(3)]
        samples.append(
            PlainSample(
                log_probs=[torch.tensor(value, requires_grad=True) for value in log_probs],
                entropies=[torch.tensor(value, requires_grad=True) for value in rng.uniform(0, 2, length)],
                advantage=float(rng.normal()),
                **dict(zip(("old", "engine", "reference"), others, strict=True)),
            )
        )
    return samples


def token_batch(samples: Sequence[PlainSample]) -> TokenBatch:
    """The same tokens as one micro-batch, in leaves of its own."""

    def joined(name: str) -> Tensor:
        return torch.tensor([float(torch.as_tensor(value).detach()) for one in samples for value in getattr(one, name)])

    lengths = [len(one.log_probs) for one in samples]
    return TokenBatch(
        log_probs=joined("log_probs").requires_grad_(),
        entropy=joined("entropies").requires_grad_(),
        sample_index=torch.repeat_interleave(torch.arange(len(samples)), torch.tensor(lengths)),
        num_samples=len(samples),
        advantages=torch.tensor([one.advantage for one in samples]).repeat_interleave(torch.tensor(lengths)),
        old_log_probs=joined("old"),
        engine_log_probs=joined("engine"),
        reference_log_probs=joined("reference"),
    )


@pytest.fixture(autouse=True)
def _double() -> Any:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_value_and_gradient_equal_the_slow_reference(name: str, seed: int) -> None:
    spec, samples = SPECS[name], random_samples(seed)
    batch = token_batch(samples)
    weights = torch.from_numpy(np.random.default_rng(seed).uniform(0.1, 1.0, len(samples)))
    found = token_loss(spec, batch).losses
    expected = [plain_losses(spec, one) for one in samples]
    plain = [float(loss.detach()) for losses in expected for loss in losses]
    assert found.tolist() == pytest.approx(plain, rel=1e-9, abs=1e-9)
    (found * weights[batch.sample_index]).sum().backward()
    sum(weight * loss for weight, losses in zip(weights, expected, strict=True) for loss in losses).backward()
    for leaf, scalars in ((batch.log_probs, "log_probs"), (batch.entropy, "entropies")):
        wanted = [0.0 if x.grad is None else float(x.grad) for one in samples for x in getattr(one, scalars)]
        gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        assert gradient.tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def ratios(*values: float, advantages: Sequence[float], **changes: Any) -> TokenBatch:
    """Tokens of one sample with these ratios of new to old probability."""
    count = len(values)
    fields = {
        "log_probs": torch.tensor(values).log().requires_grad_(),
        "entropy": torch.ones(count),
        "sample_index": torch.zeros(count, dtype=torch.long),
        "num_samples": 1,
        "old_log_probs": torch.zeros(count),
        "advantages": torch.tensor(advantages),
    }
    return TokenBatch(**{**fields, **changes})


def values(spec: LossSpec, tokens: TokenBatch) -> dict[str, float | None]:
    return {name: metric.value for name, metric in reduce_metrics(token_loss(spec, tokens).metrics).items()}


def test_clipped_loss_tells_what_it_clipped() -> None:
    batch = ratios(1.5, 1.5, 0.5, 0.5, 1.0, advantages=[1.0, -1.0, 1.0, -1.0, 1.0])
    found = values(ClippedLossSpec(clip_low=0.2, clip_high=0.28), batch)
    # Only a ratio that already went where its advantage pushes it is clipped: the first and the fourth.
    assert found["train/clip_frac"] == pytest.approx(0.4)
    assert found["train/ratio_max"] == pytest.approx(1.5)
    assert found["train/ratio_min"] == pytest.approx(0.5)
    ratio = np.array([1.5, 1.5, 0.5, 0.5, 1.0])
    assert found["train/kl"] == pytest.approx((ratio - 1 - np.log(ratio)).mean())
    assert found["train/log_prob_diff"] == pytest.approx(np.abs(np.log(ratio)).mean())
    assert found["train/log_prob_diff_max"] == pytest.approx(np.log(2))
    assert "train/dual_clip_frac" not in found


def test_dual_clip_bounds_the_loss_of_tokens_that_became_much_likelier() -> None:
    batch = ratios(10.0, 2.0, 10.0, advantages=[-1.0, -1.0, 1.0])
    spec = ClippedLossSpec(dual_clip=3.0)
    result = token_loss(spec, batch)
    assert result.losses.tolist() == pytest.approx([3.0, 2.0, -1.28])
    assert torch.autograd.grad(result.losses.sum(), batch.log_probs)[0].tolist() == pytest.approx([0.0, 2.0, 0.0])
    assert values(spec, batch)["train/dual_clip_frac"] == pytest.approx(1 / 3)


def test_clip_higher_leaves_more_room_above_than_below() -> None:
    batch = ratios(1.25, 0.75, advantages=[1.0, -1.0])
    assert token_loss(ClippedLossSpec(clip_low=0.2, clip_high=0.28), batch).losses.tolist() == pytest.approx(
        [-1.25, 0.8]
    )


def test_gspo_has_one_ratio_for_each_sample_whatever_its_length() -> None:
    batch = ratios(2.0, 0.5, 1.1, advantages=[1.0, 1.0, 1.0], sample_index=torch.tensor([0, 0, 1]), num_samples=2)
    spec = GspoLossSpec(clip_low=0.05, clip_high=0.05)
    assert token_loss(spec, batch).losses.tolist() == pytest.approx([-1.0, -1.0, -1.05])
    found = values(spec, batch)
    assert (found["train/ratio_max"], found["train/ratio_min"]) == pytest.approx((1.1, 1.0))
    assert found["train/clip_frac"] == pytest.approx(1 / 3)


def test_no_token_loses_its_gradient_under_cispo() -> None:
    batch = ratios(9.0, 0.1, 1.0, advantages=[1.0, -1.0, 2.0])
    result = token_loss(CispoLossSpec(clip_high=4.0), batch)
    assert torch.autograd.grad(result.losses.sum(), batch.log_probs)[0].tolist() == pytest.approx([-5.0, 0.1, -2.0])
    assert values(CispoLossSpec(clip_high=4.0), batch)["train/clip_frac"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("spec", [ClippedLossSpec(), GspoLossSpec(), CispoLossSpec()], ids=lambda spec: spec.type)
def test_ratios_beyond_the_range_of_floats_have_finite_losses_and_gradients(spec: LossSpec) -> None:
    log_probs = torch.tensor([-1.0, -200.0], requires_grad=True)
    for advantages in ([1.0, 1.0], [-1.0, -1.0]):
        batch = TokenBatch(
            log_probs=log_probs,
            entropy=torch.ones(2),
            sample_index=torch.tensor([0, 1]),
            num_samples=2,
            old_log_probs=torch.tensor([-200.0, -1.0]),
            advantages=torch.tensor(advantages),
        )
        result = token_loss(spec, batch)
        (gradient,) = torch.autograd.grad(result.losses.sum(), log_probs)
        assert result.losses.isfinite().all()
        assert gradient.isfinite().all()


def test_unchanged_policy_has_no_kl_and_nothing_clipped() -> None:
    batch = ratios(1.0, 1.0, advantages=[1.0, -1.0])
    for spec in (ClippedLossSpec(), GspoLossSpec(), CispoLossSpec()):
        found = values(spec, batch)
        assert found["train/kl"] == found["train/clip_frac"] == found["train/log_prob_diff"] == 0


# Schulman's estimates, from tokens drawn by the policy: mean and standard error tell biased from unbiased.
def test_estimates_of_the_kl_divergence_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    policy, reference = (np.exp(rows) / np.exp(rows).sum() for rows in (rng.normal(size=8), rng.normal(size=8)))
    exact = float((policy * np.log(policy / reference)).sum())
    means = {}
    for estimator in KlEstimator:
        each = kl_estimate(estimator, torch.from_numpy(np.log(policy)), torch.from_numpy(np.log(reference)))
        means[estimator] = float((torch.from_numpy(policy) * each).sum())
        for token, value in enumerate(each.tolist()):
            plain = plain_kl(estimator, torch.tensor(np.log(policy[token])), float(np.log(reference[token])))
            assert value == pytest.approx(float(plain))
    assert means[KlEstimator.K1] == pytest.approx(exact)
    assert means[KlEstimator.K3] == pytest.approx(exact)
    assert means[KlEstimator.K2] != pytest.approx(exact, rel=0.01)


def test_as_a_loss_k2_has_the_gradient_of_the_divergence_and_k1_none() -> None:
    torch.manual_seed(0)
    logits, reference = torch.randn(6, requires_grad=True), torch.log_softmax(torch.randn(6), dim=0)
    policy = torch.log_softmax(logits, dim=0)
    divergence = (policy.exp() * (policy - reference)).sum()
    (exact,) = torch.autograd.grad(divergence, logits, retain_graph=True)
    drawn = policy.exp().detach()
    for estimator, wanted in ((KlEstimator.K2, exact), (KlEstimator.K1, torch.zeros(6))):
        of_tokens = kl_estimate(estimator, policy, reference)
        (found,) = torch.autograd.grad((drawn * of_tokens).sum(), logits, retain_graph=True)
        torch.testing.assert_close(found, wanted)


def test_corrections_weigh_by_the_trainers_probability_over_the_engines() -> None:
    weights = [0.2, 0.5, 1.0, 1.9, 2.1, 6.0]
    batch = ratios(*[1.0] * 6, advantages=[1.0] * 6, engine_log_probs=-torch.tensor(weights).log())
    tis, icepop = TisSpec(type="tis", cap=2.0), IcePopSpec(type="icepop", low=0.5, high=5.0)
    assert correction_weights(tis, batch).tolist() == pytest.approx([0.2, 0.5, 1.0, 1.9, 2.0, 2.0])
    for correction in (tis, IcePopSpec(type="icepop", low=0.4, high=5.0)):
        plain = [plain_correction(correction, 0.0, -np.log(weight)) for weight in weights]
        assert correction_weights(correction, batch).tolist() == pytest.approx(plain)
    found = values(ClippedLossSpec(correction=icepop.model_copy(update={"low": 0.4})), batch)
    assert found["train/correction_frac"] == pytest.approx(2 / 6)
    assert found["train/correction_mean"] == pytest.approx((0.5 + 1.0 + 1.9 + 2.1) / 6)
    assert values(ClippedLossSpec(correction=tis), batch)["train/correction_frac"] == pytest.approx(2 / 6)
    assert found["train/log_prob_diff_max"] == pytest.approx(np.log(6.0))


def test_parts_of_a_loss_are_told_where_there_is_more_than_one() -> None:
    batch = ratios(1.1, 0.9, advantages=[1.0, -1.0], reference_log_probs=torch.tensor([0.3, -0.3]))
    result = token_loss(ClippedLossSpec(entropy_coef=0.1, kl=KL), batch)
    assert set(result.parts) == {"train/policy_loss", "train/kl_loss", "train/entropy_loss"}
    torch.testing.assert_close(sum(result.parts.values()), result.losses)
    assert result.parts["train/entropy_loss"].tolist() == pytest.approx([-0.1, -0.1])
    assert token_loss(ClippedLossSpec(), batch).parts == {}


def my_loss(tokens: TokenBatch, *, power: float = 1.0) -> Tensor:
    assert tokens.advantages is not None
    return -(tokens.advantages.abs() ** power) * tokens.log_probs


def my_loss_with_metrics(tokens: TokenBatch) -> TokenLoss:
    value = TokenMetric(reduction=Reduction.MEAN, values=tokens.entropy)
    return TokenLoss(losses=-tokens.log_probs, metrics={"train/mine": value})


def my_mean(tokens: TokenBatch) -> Tensor:
    return tokens.log_probs.mean()


def python_spec(name: str, **arguments: Any) -> PythonLossSpec:
    return PythonLossSpec(function=PythonFunction(python=f"{__name__}:{name}", arguments=arguments), entropy_coef=0.5)


def test_a_users_own_loss_gets_the_tokens_and_its_arguments() -> None:
    batch = ratios(2.0, 0.5, advantages=[2.0, -3.0])
    result = token_loss(python_spec("my_loss", power=2.0), batch)
    assert result.losses.tolist() == pytest.approx([-4 * np.log(2) - 0.5, 9 * np.log(2) - 0.5])
    assert {"train/kl", "train/ratio_max", "train/log_prob_diff"} <= set(result.metrics)
    assert values(python_spec("my_loss_with_metrics"), batch)["train/mine"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_mean", r"shape \(\).*one loss for each token, a tensor of shape \(2,\)"),
        ("no_such", "has no function no_such"),
    ],
)
def test_a_users_loss_that_is_none_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        token_loss(python_spec(name), ratios(1.0, 1.0, advantages=[1.0, 1.0]))


def test_a_users_loss_is_not_asked_for_no_tokens() -> None:
    assert token_loss(python_spec("no_such"), no_tokens(torch.device("cpu"))).losses.shape == (0,)


@pytest.mark.parametrize("name", SPECS)
def test_metrics_of_no_tokens_have_their_names_and_no_value(name: str) -> None:
    spec = SPECS[name]
    empty = reduce_metrics(token_loss(spec, no_tokens(torch.device("cpu"))).metrics)
    assert set(empty) == set(token_loss(spec, token_batch(random_samples(0))).metrics)
    assert {metric.value for metric in empty.values()} <= {None}


def test_a_metric_without_tokens_keeps_its_reduction() -> None:
    metrics = reduce_metrics({"a": TokenMetric(reduction=Reduction.MAX, values=torch.empty(0))})
    assert (metrics["a"].reduction, metrics["a"].count, metrics["a"].value) == (Reduction.MAX, 0, None)
    assert reduce_metrics({}) == {}


def test_only_losses_of_rollouts_have_a_temperature() -> None:
    assert logit_temperature(SftLossSpec()) == 1.0
    for spec in LOSSES:
        if issubclass(spec, PolicyLossSpec) and spec is not PythonLossSpec:
            assert logit_temperature(spec(temperature=0.6)) == 0.6


@pytest.mark.parametrize(
    "case_id",
    ["token-mean-micro-batches", "rollout-mean-split-siblings", "fully-masked-sample", "dr-grpo-constant"],
)
def test_constant_losses_add_up_as_their_weights_say(case_id: str) -> None:
    """Σ loss_scale · loss / step_global_batch_size with loss_scale = size · w, over tokens in any grouping."""
    samples = samples_of(case_id)
    size = len(samples)
    total = 0.0
    for losses, weight in samples:
        batch = ratios(*np.exp([-loss for loss in losses]), advantages=[0.0] * len(losses))
        total += float((token_loss(SftLossSpec(), batch).losses * size * weight).sum().detach()) / size
    assert total == pytest.approx(CASES[case_id]["expect"])
