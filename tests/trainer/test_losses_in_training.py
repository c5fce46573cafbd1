"""Each loss through the real Megatron trainer against a plain loop: here one rank, under layouts in the stack tests."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.trainer import factories
from tests.trainer.loss_factories import LOSSES, with_log_probs
from tests.trainer.reference_metrics import check_metrics, reference_metrics
from trainer.architecture import load_hf_config
from trainer.contracts.loss_spec import ClippedLossSpec, PolicyLossSpec, PythonLossSpec
from trainer.contracts.metric import last
from trainer.contracts.python_function import PythonFunction
from trainer.rank import MegatronRank

# Megatron 0.16 warns of its own calls that leave a process group to its global state.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")

# A warm-up from 0: the first step of a phase moves no weight, so that its gradient can be compared afterwards.
FROZEN = {"warmup": 1000}


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_loss_of_any_cut_equal_the_plain_loop(lone_rank: MegatronRank, name: str) -> None:
    loss, rng = LOSSES[name], np.random.default_rng(8)
    model = factories.reference_model(load_hf_config(factories.model_spec()), lone_rank.weights())
    samples = with_log_probs(factories.samples(rng, 7), rng)
    expected = factories.reference_step(model, samples, loss)
    metrics = reference_metrics(model, samples, loss, lr=0.0)
    for _ in range(3):
        lone_rank.start_phase(factories.phase(loss, **FROZEN))
        cut = factories.random_step(rng, len(samples), dp=1)
        (report,) = factories.train_alone(lone_rank, samples, factories.schedule(cut), loss=loss)
        errors = factories.gradient_errors(lone_rank.gradients(), expected.gradients)
        assert max(errors.values()) <= 1e-5, errors
        # The rank alone does not tell the learning rate: that is in every record anyway.
        check_metrics(report.metrics | {"train/lr": last(0.0)}, metrics)


@pytest.mark.parametrize("name", LOSSES)
def test_a_step_without_loss_tokens_has_the_names_of_all_metrics(lone_rank: MegatronRank, name: str) -> None:
    loss, rng = LOSSES[name], np.random.default_rng(0)
    samples = with_log_probs([factories.sample(rng), factories.sample(rng, prompt=6, response=0)], rng)
    lone_rank.start_phase(factories.phase(loss, **FROZEN))
    plan = factories.schedule([[[0]]], [[[1]]])
    trained, skipped = factories.train_alone(lone_rank, samples, plan, loss=loss)
    assert trained.metrics.keys() == skipped.metrics.keys()
    assert {metric.value for metric in skipped.metrics.values()} == {None}


@pytest.fixture
def user_module() -> str:
    """A module of the user's, with PPO written once more."""
    module = ModuleType("a_users_losses")

    def ppo(tokens, *, clip):
        ratio = (tokens.log_probs - tokens.old_log_probs).exp()
        bounded = ratio.clamp(1 - clip, 1 + clip)
        return -torch.minimum(ratio * tokens.advantages, bounded * tokens.advantages)

    module.ppo = ppo
    sys.modules[module.__name__] = module
    yield module.__name__
    del sys.modules[module.__name__]


def test_a_users_loss_trains_like_the_same_loss_of_ours(lone_rank: MegatronRank, user_module: str) -> None:
    samples = factories.samples(np.random.default_rng(2), 5)
    own = PythonLossSpec(function=PythonFunction(python=f"{user_module}:ppo", arguments={"clip": 0.2}))
    found: list[dict[str, np.ndarray]] = []
    for loss in (own, ClippedLossSpec(clip_low=0.2, clip_high=0.2)):
        lone_rank.start_phase(factories.phase(loss, **FROZEN))
        factories.train_alone(lone_rank, samples, factories.schedule([[[0, 1], [2, 3, 4]]]), loss=loss)
        found.append(lone_rank.gradients())
    assert max(factories.gradient_errors(*found).values()) <= 1e-6


def unchanged(loss: PolicyLossSpec) -> PolicyLossSpec:
    return loss.model_copy(update={"entropy_coef": 0.0, "kl": None, "correction": None, "temperature": 1.0})


@pytest.mark.parametrize("name", [name for name in LOSSES if "cispo" not in name])
def test_the_loss_of_an_unchanged_policy_is_minus_its_advantage(lone_rank: MegatronRank, name: str) -> None:
    """So that any constant loss can be asked for, as the shared cases of `test_ray_trainer.py` do."""
    loss, rng = unchanged(LOSSES[name]), np.random.default_rng(3)
    model = factories.reference_model(load_hf_config(factories.model_spec()), lone_rank.weights())
    one = factories.sample(rng, response=5, loss_scale=0.2)
    same = factories.sample(
        rng,
        response=5,
        loss_scale=0.2,
        token_ids=one.token_ids,
        old_log_probs=factories.reference_log_probs(model, one),
        advantages=np.full(one.num_tokens, 3.0, dtype=np.float32),
    )
    lone_rank.start_phase(factories.phase(loss, **FROZEN))
    (report,) = factories.train_alone(lone_rank, [same], factories.schedule([[[0]]]), loss=loss)
    assert report.metrics["train/loss"].value == pytest.approx(-3.0, rel=1e-5)
