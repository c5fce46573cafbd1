from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from server.history.buckets import Columns, bucket_width, into_buckets, points
from tests.server.cases import case
from trainer.contracts.metric import Reduction

finite = st.floats(allow_nan=False, allow_infinity=False)
weights = st.floats(min_value=1e-3, max_value=1e6)
steps = st.integers(0, 2**53 - 1)
series = st.lists(st.tuples(steps, finite, weights), min_size=1, max_size=60, unique_by=lambda p: p[0])
any_weight = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
wild_series = st.lists(st.tuples(steps, finite, any_weight), min_size=1, max_size=60, unique_by=lambda p: p[0])


def columns(given_points: list[tuple[int, float, float]]) -> Columns:
    table = np.array(sorted(given_points), dtype=np.float64).T
    return points(x=table[0], step=table[0], value=table[1], weight=table[2])


def test_a_bucket_shows_the_weighted_mean() -> None:
    given_case = case("metrics.json", "bucket-mean-is-weighted")
    table = [(i, p["value"], p["weight"]) for i, p in enumerate(given_case["given"]["points"])]
    found = into_buckets(columns(table), 2.0, Reduction.MEAN)
    assert found.value.tolist() == [given_case["expect"]]
    assert found.weight.tolist() == [4.0]


@settings(deadline=None)  # times say little on shared machines
@given(series, st.sampled_from([1.0, 2.0, 64.0, 2.0**40]))
def test_the_mean_equals_a_plain_reference(given_points: list[tuple[int, float, float]], width: float) -> None:
    small = [(x, math.fmod(value, 1e9), weight) for x, value, weight in given_points]
    found = into_buckets(columns(small), width, Reduction.MEAN)
    plain: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for x, value, weight in sorted(small):
        plain[math.floor(x / width)].append((x, value, weight))
    assert len(found.x) == len(plain)
    for i, key in enumerate(sorted(plain)):
        total = math.fsum(weight for _, _, weight in plain[key])
        mean = math.fsum(value * weight for _, value, weight in plain[key]) / total
        assert math.isclose(found.value[i], mean, rel_tol=1e-9, abs_tol=1e-5)
        assert (found.step[i], found.last_step[i]) == (plain[key][0][0], plain[key][-1][0])


@settings(deadline=None)  # times say little on shared machines
@given(wild_series, st.integers(1, 20), st.sampled_from(list(Reduction)))
def test_buckets_are_few_keep_extremes_and_are_finite(
    given_points: list[tuple[int, float, float]], max_buckets: int, reduction: Reduction
) -> None:
    whole = columns(given_points)
    found = into_buckets(whole, bucket_width(whole.x.min(), whole.x.max(), max_buckets), reduction)
    assert len(found.x) <= max_buckets
    assert found.low.min() == whole.value.min()
    assert found.high.max() == whole.value.max()
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.weight).all()
    assert (np.diff(found.x) > 0).all()
    if reduction is not Reduction.SUM:
        assert ((found.low <= found.value) & (found.value <= found.high)).all()


@settings(deadline=None)  # times say little on shared machines
@given(series, st.integers(0, 59))
def test_a_bucket_does_not_depend_on_the_range_around_it(
    given_points: list[tuple[int, float, float]], cut: int
) -> None:
    """Buckets that lie wholly in a part of the series are the same as in the whole series."""
    ordered, width = sorted(given_points), 64.0
    part = ordered[min(cut, len(ordered) - 1) :]
    whole_buckets = into_buckets(columns(ordered), width, Reduction.MEAN)
    part_buckets = into_buckets(columns(part), width, Reduction.MEAN)
    begun = math.floor(part[0][0] / width)
    later = {x: v for x, v in zip(part_buckets.x, part_buckets.value, strict=True) if x // width > begun}
    same = {x: v for x, v in zip(whole_buckets.x, whole_buckets.value, strict=True) if x // width > begun}
    assert later == same


def test_sum_max_min_and_last_are_reduced_as_declared() -> None:
    table = columns([(0, 3.0, 1.0), (1, 1.0, 5.0), (2, 2.0, 1.0)])
    found = {r: into_buckets(table, 4.0, r).value.tolist() for r in Reduction if r is not Reduction.MEAN}
    assert found == {Reduction.SUM: [6.0], Reduction.MAX: [3.0], Reduction.MIN: [1.0], Reduction.LAST: [2.0]}


def test_a_mean_of_huge_values_does_not_overflow() -> None:
    found = into_buckets(columns([(0, 1.7e308, 1e6), (1, 1.7e308, 1e6)]), 2.0, Reduction.MEAN)
    assert found.value.tolist() == [1.7e308]


def test_the_width_of_a_single_point_is_one() -> None:
    assert bucket_width(5.0, 5.0, 10) == 1.0
