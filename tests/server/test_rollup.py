from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.database.tables import PointKind
from server.history.rollup import Rollups, roll_up
from server.history.series import COLUMN_NUMBERS
from server.history.stretches import ROLLUP_SIZES, stretches
from server.steps.columns import STEP_SERIES
from trainer.contracts.metric import Reduction

Point = tuple[int, int, float, int, float]
"""Series, step, value, kind, weight."""
REDUCTIONS = dict(enumerate(Reduction))
KINDS = [PointKind.FINITE, PointKind.FINITE, PointKind.FINITE, PointKind.NAN, PointKind.POSITIVE_INFINITY]
point = st.tuples(
    st.integers(0, len(REDUCTIONS) - 1),
    st.integers(0, 300),
    st.floats(-1e6, 1e6),
    st.sampled_from([int(kind) for kind in KINDS]),
    st.floats(1e-3, 1e6),
)
many_points = st.lists(point, max_size=80, unique_by=lambda p: p[:2])


def of_points(given_points: list[Point]) -> Rollups:
    series, step, value, kind, weight = np.array(given_points, dtype=np.float64).reshape(-1, 5).T
    value = np.where(kind == PointKind.FINITE, value, np.nan)
    return Rollups.of_points(series=series, step=step, value=value, kind=kind, weight=weight)


@settings(deadline=None, max_examples=300)  # times say little on shared machines
@given(many_points)
def test_rollups_equal_a_plain_reference(given_points: list[Point]) -> None:
    found = roll_up(of_points(given_points), 64, REDUCTIONS)
    plain: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for each in sorted(given_points):
        plain[each[0], each[1] // 64].append(each)
    assert list(zip(found.series.tolist(), found.bucket.tolist(), strict=True)) == sorted(plain)
    for i, key in enumerate(sorted(plain)):
        whole, finite = plain[key], [p for p in plain[key] if p[3] == PointKind.FINITE]
        assert (found.num_points[i], found.first_step[i], found.last_step[i]) == (
            len(whole),
            whole[0][1],
            whole[-1][1],
        )
        nans = [p[1] for p in whole if p[3] == PointKind.NAN]
        assert np.isnan(found.nan_step[i]) if not nans else found.nan_step[i] == nans[0]
        assert found.weight[i] == pytest.approx(sum(p[4] for p in finite))
        if not finite:
            assert np.isnan(found.value[i])
            continue
        values = [p[2] for p in finite]
        expected = {
            Reduction.MEAN: sum(p[2] * p[4] for p in finite) / sum(p[4] for p in finite),
            Reduction.SUM: sum(values),
            Reduction.MAX: max(values),
            Reduction.MIN: min(values),
            Reduction.LAST: values[-1],
        }[REDUCTIONS[key[0]]]
        assert found.value[i] == pytest.approx(expected, rel=1e-9, abs=1e-6)
        assert (found.low[i], found.high[i]) == (min(values), max(values))
        assert (found.first_value[i], found.last_value[i]) == (values[0], values[-1])
        assert (found.first_finite_step[i], found.last_finite_step[i]) == (finite[0][1], finite[-1][1])


@settings(deadline=None)  # times say little on shared machines
@given(many_points)
def test_rollups_of_rollups_equal_rollups_of_points(given_points: list[Point]) -> None:
    points = of_points(given_points)
    at_once, in_steps = roll_up(points, 128, REDUCTIONS), roll_up(roll_up(points, 16, REDUCTIONS), 8, REDUCTIONS)
    for name in Rollups.__dataclass_fields__:
        np.testing.assert_allclose(getattr(in_steps, name), getattr(at_once, name), rtol=1e-9, atol=1e-6, err_msg=name)


@given(st.integers(0, 20_000), st.integers(0, 20_000), st.integers(0, 400), st.sampled_from(ROLLUP_SIZES))
def test_stretches_tile_the_range_and_rollups_lie_where_they_are_complete(
    first: int, num_steps: int, rolled: int, coarsest: int
) -> None:
    end, rolled_up_to = first + num_steps, rolled * 64
    found = list(stretches(first, end, rolled_up_to=rolled_up_to, coarsest=coarsest))
    assert [s.first for s in found] + [end] == [first] + [s.end for s in found]
    for stretch in found:
        assert stretch.first < stretch.end
        if stretch.num_steps > 1:
            assert stretch.num_steps <= coarsest
            assert stretch.first % stretch.num_steps == stretch.end % stretch.num_steps == 0
            assert stretch.end <= rolled_up_to
    by_point = sum(s.end - s.first for s in found if s.num_steps == 1 and s.end <= rolled_up_to)
    assert by_point < 2 * 64 + 64


def test_every_series_of_the_steps_has_a_number_of_its_own() -> None:
    assert STEP_SERIES.keys() <= COLUMN_NUMBERS.keys()
    assert len(set(COLUMN_NUMBERS.values())) == len(COLUMN_NUMBERS)
    assert max(COLUMN_NUMBERS.values()) < 0


def test_weights_of_any_size_add_up_to_a_number() -> None:
    largest = float(np.finfo(np.float64).max)
    points = of_points([(1, step, 1.0, int(PointKind.FINITE), largest) for step in range(2)])
    found = roll_up(points, 64, {1: Reduction.MEAN})
    assert (found.weight.tolist(), found.value.tolist()) == ([largest], [1.0])
