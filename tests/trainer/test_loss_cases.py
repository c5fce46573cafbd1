"""The shared cases of losses that are constant by token, through the real trainer, however the step is cut.

The clipped loss of an unchanged policy is −A for every token, so that any constant loss can be asked for. Cases that
need several ranks are in `test_ray_trainer.py`, the skipped step in `test_train_step.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.trainer import factories
from tests.trainer.loss_factories import CASES, samples_of
from trainer.architecture import load_hf_config
from trainer.contracts.loss_spec import ClippedLossSpec, GspoLossSpec, PolicyLossSpec
from trainer.contracts.sample import TrainSample
from trainer.rank import MegatronRank

# Megatron 0.16 warns of its own calls that leave a process group to its global state.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")


def constant_loss(rng: np.random.Generator, model: Any, losses: Sequence[float], loss_scale: float) -> TrainSample:
    """One sample with these losses, by token."""
    one = factories.sample(rng, prompt=2, response=len(losses), loss_scale=loss_scale)
    advantages = np.concatenate([np.zeros(2), -np.array(losses)]).astype(np.float32)
    return replace(one, advantages=advantages, old_log_probs=factories.reference_log_probs(model, one))


@pytest.mark.parametrize("loss", [ClippedLossSpec(), GspoLossSpec()], ids=lambda loss: loss.type)
@pytest.mark.parametrize(
    "case_id",
    ["token-mean-micro-batches", "rollout-mean-split-siblings", "fully-masked-sample", "dr-grpo-constant"],
)
def test_the_step_has_the_expected_loss_however_it_is_cut(
    lone_rank: MegatronRank, case_id: str, loss: PolicyLossSpec
) -> None:
    rng = np.random.default_rng(0)
    model = factories.reference_model(load_hf_config(factories.model_spec()), lone_rank.weights())
    given = samples_of(case_id)
    size = len(given)
    samples = [constant_loss(rng, model, losses, size * weight) for losses, weight in given]
    in_one = [[list(range(size))]]
    one_each = [[[i] for i in reversed(range(size))]]
    for cut in (in_one, one_each, *(factories.random_step(rng, size, dp=1) for _ in range(3))):
        # A warm-up from 0, so that no cut moves the policy of the next.
        lone_rank.start_phase(factories.phase(loss, warmup=1000))
        (report,) = factories.train_alone(lone_rank, samples, factories.schedule(cut), loss=loss)
        assert report.metrics["train/loss"].value == pytest.approx(CASES[case_id]["expect"], rel=1e-5)
        assert report.metrics["train/loss"].count == size


def test_every_case_of_a_loss_is_in_some_test() -> None:
    elsewhere = {
        "token-mean-uneven-dp",  # test_ray_trainer.py
        "megatron-scaling-variable-batch",  # test_ray_trainer.py
        "whole-step-masked",  # test_train_step.py
        "filtered-groups-denominator",  # tests/orchestrator/test_loop.py
    }
    here = {"token-mean-micro-batches", "rollout-mean-split-siblings", "fully-masked-sample", "dr-grpo-constant"}
    assert set(CASES) == here | elsewhere
