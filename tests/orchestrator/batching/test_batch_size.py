from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.batch_size import BatchPosition, next_size
from tests.orchestrator.batch_factories import ALL, adaptive, explicit, fixed, ramp, table

with warnings.catch_warnings():
    # Megatron warns at import that Transformer Engine and Apex are missing.
    warnings.simplefilter("ignore")
    from megatron.core.num_microbatches_calculator import RampupBatchsizeNumMicroBatchesCalculator


def at(step: int = 0, samples: int = 0) -> BatchPosition:
    return BatchPosition(step=step, samples=samples)


def test_a_ramp_from_8_to_16_over_160_samples_is_20_steps_of_8_and_then_16() -> None:
    batch, position, sizes = ramp(8, 16, 8, 160), BatchPosition(), []
    for _ in range(25):
        size = next_size(batch, position)
        assert size is not None
        sizes.append(size)
        position = position.after(size)
    assert sizes == [8] * 20 + [16] * 5


@given(st.integers(1, 64), st.integers(1, 16), st.integers(1, 12), st.integers(1, 5_000), st.integers(0, 6_000))
def test_a_ramp_is_megatrons(start: int, increment: int, num_increments: int, over: int, samples: int) -> None:
    end = start + increment * num_increments
    megatrons = RampupBatchsizeNumMicroBatchesCalculator(
        global_batch_size=end,
        micro_batch_size=1,
        data_parallel_size=1,
        decrease_batch_size_if_needed=False,
        rank=1,
        start_global_batch_size=start,
        batch_size_increment=increment,
        ramup_samples=over,
    )
    megatrons.update(samples, consistency_check=False)
    assert next_size(ramp(start, end, increment, over), at(samples=samples)) == megatrons.current_global_batch_size


def test_a_ramp_without_a_slope_has_one_size() -> None:
    assert next_size(ramp(8, 8, 4, 100), at()) == 8


@pytest.mark.parametrize(("step", "size"), [(0, 4), (1, 8), (2, 2), (3, 2), (1000, 2)])
def test_the_last_of_explicit_sizes_stays(step: int, size: int) -> None:
    assert next_size(explicit(4, 8, 2), at(step)) == size


@pytest.mark.parametrize(("step", "size"), [(0, 4), (9, 4), (10, 8), (19, 8), (20, 2), (1000, 2)])
def test_a_row_of_a_table_holds_until_the_next_one(step: int, size: int) -> None:
    assert next_size(table({0: 4, 10: 8, 20: 2}), at(step)) == size


def test_policies_that_do_not_look_at_the_position() -> None:
    assert next_size(fixed(5), at(3, 50)) == 5
    assert next_size(ALL, at(3, 50)) is None


def test_adaptive_keeps_its_first_size_until_something_is_decided() -> None:
    control = adaptive(2, 8, mode="control", global_batch_size=4)
    assert next_size(control, at()) == 4
    assert next_size(control, at(), decided_size=6) == 6
    assert next_size(adaptive(2, 8), at()) is None
