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

from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.rollouts.advantages import estimate_of
from orchestrator.rollouts.group_filter import filter_groups
from orchestrator.schedule import build_dp_schedule
from orchestrator.train_items import rollout_items, train_samples, with_advantages
from tests.orchestrator.factories import group
from tests.trainer import factories
from tests.trainer.loss_factories import CASES, samples_of
from trainer.architecture import load_hf_config
from trainer.contracts.certificate import LossAggregation
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


@pytest.mark.parametrize("policy", list(ZeroVariancePolicy))
def test_filtered_groups_count_in_the_denominator_as_declared(
    lone_rank: MegatronRank, policy: ZeroVariancePolicy
) -> None:
    """From judged groups through the filter, the certificate and the schedule into the optimizer's step."""
    case = CASES["filtered-groups-denominator"]
    num_groups, num_equal = case["given"]["groups"], case["given"]["zero_variance_groups"]
    groups = [
        group([0.0 if k < num_equal else float(i == 0) for i in range(case["given"]["group_size"])], group_id=f"g{k}")
        for k in range(num_groups)
    ]
    kept = filter_groups(groups, policy).kept
    items, _ = with_advantages(rollout_items(kept), estimate_of(AdvantageEstimator.DR_GRPO))
    shapes = [item.shape for item in items]
    plan = build_dp_schedule(
        shapes,
        [range(len(shapes))],
        geometry=StepGeometry(dp_size=1, token_cap=24),
        cost_model=CostModel.from_hf_config(load_hf_config(factories.model_spec())),
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )
    samples = train_samples(items, plan.certificates[0])
    lone_rank.start_phase(factories.phase(ClippedLossSpec(), warmup=1000))
    model = factories.reference_model(load_hf_config(factories.model_spec()), lone_rank.weights())
    (report,) = factories.train_alone(lone_rank, samples, plan, loss=ClippedLossSpec())
    expected = case["expect"][policy]["global_batch_size"]
    assert (report.global_batch_size, report.lr_position_after) == (expected, expected)
    # A mean over rollouts written out, apart from the weights that the trainer was given.
    even = [replace(one, loss_scale=1 / one.num_loss_tokens) for one in samples]
    assert len(even) == expected
    wanted = factories.reference_step(model, even, ClippedLossSpec())
    assert report.metrics["train/loss"].value == pytest.approx(wanted.loss, rel=1e-5)
    assert report.metrics["train/grad_norm"].value == pytest.approx(wanted.grad_norm, rel=1e-5)
    assert report.metrics["train/loss"].count == expected


def test_every_case_of_a_loss_is_in_some_test() -> None:
    elsewhere = {
        "token-mean-uneven-dp",  # test_ray_trainer.py
        "megatron-scaling-variable-batch",  # test_ray_trainer.py
        "whole-step-masked",  # test_train_step.py
    }
    here = {
        "token-mean-micro-batches",
        "rollout-mean-split-siblings",
        "fully-masked-sample",
        "dr-grpo-constant",
        "filtered-groups-denominator",
    }
    assert set(CASES) == here | elsewhere
