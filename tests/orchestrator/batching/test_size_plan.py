from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.batch_policy import cut_into_steps
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.batching.size_plan import PlannedIteration, planned_sizes, steps_left
from orchestrator.contracts.batch_spec import BatchSpec, Remainder
from orchestrator.sample_shape import SampleShape
from tests.orchestrator.batch_factories import ALL, adaptive, batches, fixed, ramp, token_budget
from tests.orchestrator.factories import sample_shapes


def test_what_is_carried_comes_first_and_is_trained_after_the_last_iteration() -> None:
    planned = list(planned_sizes(fixed(6, Remainder.CARRY), kept_per_iteration=[8, 8, 3]))
    assert [iteration.step_sizes for iteration in planned] == [(6,), (6,), (6, 1)]
    assert [iteration.num_carried_in for iteration in planned] == [0, 2, 4]
    assert [iteration.num_carried_out for iteration in planned] == [2, 4, 0]


def test_dropped_rollouts_are_counted_in_every_iteration() -> None:
    planned = list(planned_sizes(fixed(6, Remainder.DROP), kept_per_iteration=[8, 5, 12]))
    assert [iteration.step_sizes for iteration in planned] == [(6,), (), (6, 6)]
    assert [iteration.num_dropped for iteration in planned] == [2, 5, 0]


@given(batches(), st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 3), st.integers(1, 500))
def test_with_equal_lengths_the_plan_is_what_happens(
    batch: BatchSpec, kept: list[int], samples_per_rollout: int, num_tokens: int
) -> None:
    planned = planned_sizes(
        batch,
        kept_per_iteration=kept,
        samples_per_rollout=samples_per_rollout,
        tokens_per_rollout=num_tokens * samples_per_rollout,
    )
    waiting: list[SampleShape] = []
    position = BatchPosition()
    for i, (num_kept, expected) in enumerate(zip(kept, planned, strict=True)):
        owners = [f"{i}/{k}" for k in range(num_kept) for _ in range(samples_per_rollout)]
        samples = waiting + sample_shapes([num_tokens] * len(owners), rollouts=owners)
        cut = cut_into_steps(samples, batch, position=position, is_last_iteration=i + 1 == len(kept))
        assert expected == PlannedIteration(
            iteration=i,
            num_kept=num_kept,
            step_sizes=tuple(len(step) // samples_per_rollout for step in cut.steps),
            num_carried_in=len(waiting) // samples_per_rollout,
            num_carried_out=len(cut.carried) // samples_per_rollout,
            num_dropped=len(cut.dropped) // samples_per_rollout,
        )
        for step in cut.steps:
            position = position.after(len(step))
        waiting = [samples[k] for k in cut.carried]


def test_steps_that_are_left_are_counted_from_each_iteration() -> None:
    carry = steps_left(fixed(6, Remainder.CARRY), iterations=3, rollouts_per_iteration=8, keeps_all=True)
    assert carry == [4, 3, 2]
    assert steps_left(ramp(8, 16, 8, 16), iterations=3, rollouts_per_iteration=16, keeps_all=True) == [4, 2, 1]


@pytest.mark.parametrize("batch", [ALL, adaptive(2, 8)])
def test_one_step_an_iteration_is_known_whatever_the_filter_leaves(batch: BatchSpec) -> None:
    left = steps_left(batch, iterations=3, rollouts_per_iteration=8, keeps_all=False)
    assert left is not None
    assert list(left) == [3, 2, 1]


@pytest.mark.parametrize(
    ("batch", "keeps_all"),
    [
        (fixed(4), False),
        (token_budget(100), True),
        (adaptive(2, 8, mode="control", global_batch_size=4), True),
        (adaptive(2, 8, global_batch_size=4), False),
    ],
)
def test_what_depends_on_lengths_filter_or_noise_is_not_known(batch: BatchSpec, keeps_all: bool) -> None:
    assert steps_left(batch, iterations=3, rollouts_per_iteration=8, keeps_all=keeps_all) is None


def test_nobody_waits_for_the_number_of_a_billion_steps() -> None:
    assert steps_left(fixed(1), iterations=10**9, rollouts_per_iteration=8, keeps_all=True) is None
