from __future__ import annotations

from dataclasses import replace

import pytest

from trainer.contracts.metric import Metric, Reduction, mean
from trainer.contracts.policy_trainer import GradientNoise, StepStatus
from trainer.layout import RankLayout
from trainer.step_report import RankStepReport, merge_reports


def report(**changes) -> RankStepReport:
    values = {
        "status": StepStatus.TRAINED,
        "global_batch_size": 5,
        "lr": 0.1,
        "lr_position_before": 3,
        "lr_position_after": 8,
        "train_s": 1.0,
        "num_tokens": 100,
        "micro_batch_s": (0.5, 0.25),
        "metrics": {"train/grad_norm": mean(2.0, 1)},
    }
    return RankStepReport(**{**values, **changes})


def with_loss(total: float, count: float, ratio: float) -> dict[str, Metric]:
    return {
        "train/loss": mean(total, count),
        "train/ratio_max": Metric(reduction=Reduction.MAX, total=ratio, count=count),
        "train/grad_norm": mean(2.0, 1),
    }


def test_losses_come_from_the_last_stage_once_for_each_data_parallel_rank():
    # Megatron's order for dp = 2, pp = 2: the first stage of both copies, then the last stage of both.
    reports = [
        report(num_tokens=100, train_s=1.0, micro_batch_s=(0.5, 0.25)),
        report(num_tokens=50, train_s=2.0, micro_batch_s=(0.1, 0.0)),
        report(metrics=with_loss(3.0, 3, 1.5), num_tokens=100, micro_batch_s=(0.25, 0.75), num_positions=(64, 36)),
        report(metrics=with_loss(4.0, 2, 1.25), num_tokens=50, micro_batch_s=(0.2, 0.0), num_positions=(50, 0)),
    ]
    record = merge_reports(reports, RankLayout(dp=2, tp=1, pp=2))
    assert record.metrics["train/loss"].value == 7 / 5
    assert record.metrics["train/loss"].count == record.global_batch_size == 5
    assert record.metrics["train/ratio_max"].value == 1.5
    assert record.metrics["train/grad_norm"] == mean(2.0, 1)
    assert record.metrics["train/lr"].value == record.lr == 0.1
    assert record.metrics["perf/train_tokens_per_s"].value == 150 / 2.0
    assert record.train_s == 2.0
    assert record.micro_batch_s == ((0.5, 0.75), (0.2, 0.0))
    assert record.num_positions == ((64, 36), (50, 0))
    assert (record.lr_position_before, record.lr_position_after) == (3, 8)


def test_tensor_parallel_ranks_are_not_counted_twice():
    reports = [report(metrics=with_loss(6.0, 5, 1.0)) for _ in range(2)]
    record = merge_reports(reports, RankLayout(dp=1, tp=2, pp=1))
    assert record.metrics["train/loss"].count == 5
    assert record.metrics["perf/train_tokens_per_s"].value == 100


def test_shares_are_told_once_for_each_data_parallel_rank():
    # Megatron's order for dp = 2, tp = 2: the two ranks of the first copy, then those of the second.
    reports = [report(share_sq_norm=share) for share in (9.0, 9.0, 0.0, 0.0)]
    layout = RankLayout(dp=2, tp=2, pp=1)
    assert merge_reports(reports, layout).noise == GradientNoise(rank_sq_norms=(9.0, 0.0), sq_norm=4.0)
    assert merge_reports([report() for _ in reports], layout).noise is None
    skipped = [replace(one, status=StepStatus.SKIPPED_NON_FINITE) for one in reports]
    assert merge_reports(skipped, layout).noise is None


def test_step_without_signal_measures_nothing():
    nothing = report(status=StepStatus.SKIPPED_NO_SIGNAL, metrics={"train/loss": mean(0, 0)}, lr_position_after=3)
    record = merge_reports([nothing], RankLayout(dp=1, tp=1, pp=1))
    assert [metric.value for metric in record.metrics.values()] == [None]


def test_ranks_that_disagree_are_our_own_mistake():
    other = replace(report(), status=StepStatus.SKIPPED_NON_FINITE)
    with pytest.raises(AssertionError, match="agree"):
        merge_reports([report(), other], RankLayout(dp=2, tp=1, pp=1))
