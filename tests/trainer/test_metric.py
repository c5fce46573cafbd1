from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.contracts.metric import Metric, Reduction, last, mean, merge_metrics

CASES = {case["id"]: case for case in json.loads(Path("tests/cases/metrics.json").read_text())["cases"]}


def total_of(metrics: list[Metric]) -> Metric:
    return merge_metrics({"m": metric} for metric in metrics)["m"]


def extremum(reduction: Reduction, value: float | None) -> Metric:
    return Metric(reduction=reduction, total=0.0 if value is None else value, count=0 if value is None else 1)


def test_mean_of_ranks_is_weighted_by_their_counts():
    case = CASES["mean-of-means"]
    ranks = [mean(rank["clipped"], rank["tokens"]) for rank in case["given"]["ranks"]]
    assert total_of(ranks).value == case["expect"]


@pytest.mark.parametrize("reduction", [Reduction.MAX, Reduction.MIN])
def test_rank_without_data_does_not_count_for_an_extremum(reduction):
    case = CASES["extrema-with-empty-rank"]
    ranks = [extremum(reduction, value) for value in case["given"][reduction]]
    assert total_of(ranks).value == case["expect"][reduction]


def test_reduction_is_declared_and_not_guessed_from_the_name():
    case = CASES["reducer-is-declared"]
    parts = [
        {case["given"]["name"]: Metric(reduction=Reduction(case["given"]["reduction"]), total=value)}
        for value in case["given"]["values"]
    ]
    assert merge_metrics(parts)[case["given"]["name"]].value == case["expect"]


def test_empty_micro_batch_changes_nothing_and_all_empty_has_no_value():
    case = CASES["empty-micro-batch"]
    assert total_of([mean(*pair) for pair in case["given"]["sum_count"]]).value == case["expect"]
    assert total_of([mean(0, 0), mean(0, 0)]).value is None


def test_bucket_over_steps_keeps_the_weights():
    case = CASES["bucket-mean-is-weighted"]
    points = [mean(point["value"] * point["weight"], point["weight"]) for point in case["given"]["points"]]
    assert total_of(points).value == case["expect"]


def test_last_is_the_newest_value():
    assert total_of([last(3.0), last(1.0)]).value == 1.0


def test_metrics_of_different_reductions_do_not_merge():
    with pytest.raises(ValueError, match="cannot merge"):
        mean(1, 1) + last(1)


@pytest.mark.parametrize("count", [-1, math.nan, math.inf])
def test_impossible_count_is_refused(count):
    with pytest.raises(ValueError, match="count"):
        mean(1, count)


@pytest.mark.parametrize("reduction", [Reduction.MAX, Reduction.MIN])
@pytest.mark.parametrize("order", [1, -1])
def test_nan_survives_an_extremum_from_either_side(reduction, order):
    parts = [extremum(reduction, value) for value in (1.0, math.nan)][::order]
    assert math.isnan(total_of(parts).value)


# Integers, so that sums are exact in any order.
integers = st.integers(-1000, 1000)
parts = st.lists(st.tuples(integers, st.integers(0, 50)), min_size=1, max_size=12)


@given(parts=parts, reduction=st.sampled_from([r for r in Reduction if r is not Reduction.LAST]), data=st.data())
def test_order_and_grouping_of_merging_do_not_matter(parts, reduction, data):
    metrics = [Metric(reduction=reduction, total=total, count=count) for total, count in parts]
    shuffled = data.draw(st.permutations(metrics))
    cut = data.draw(st.integers(0, len(metrics)))
    halves = [total_of(half) for half in (shuffled[:cut], shuffled[cut:]) if half]
    assert total_of(halves).value == total_of(metrics).value
