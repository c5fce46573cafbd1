from __future__ import annotations

from itertools import chain
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.batch_policy import cut_into_steps
from orchestrator.batching.batch_size import BatchPosition, next_size
from orchestrator.contracts.batch_spec import BatchSpec, Remainder, TokenBudgetBatchSpec
from orchestrator.sample_shape import SampleShape
from tests.orchestrator.batch_factories import ALL, adaptive, batches, cut, explicit, fixed, ramp, token_budget
from tests.orchestrator.factories import case, sample_shapes, shapes_of_an_iteration


def rollouts_of(samples: list[SampleShape], step: tuple[int, ...]) -> set[str]:
    return {samples[i].rollout_id for i in step}


def sizes_of(samples: list[SampleShape], steps: tuple[tuple[int, ...], ...]) -> list[int]:
    return [len(rollouts_of(samples, step)) for step in steps]


def test_a_remainder_makes_a_smaller_step_and_loses_nothing() -> None:
    remainder = case("schedule", "remainder")
    owners = remainder["given"]["rollout_of_sample"]
    samples = sample_shapes([1] * len(owners), rollouts=owners)
    policy = fixed(remainder["given"]["rollouts_per_step"], Remainder(remainder["given"]["remainder"]))
    made = cut(samples, policy)
    assert [list(step) for step in made.steps] == remainder["expect"]["steps"]
    assert sizes_of(samples, made.steps) == remainder["expect"]["rollouts"]
    assert (made.dropped, made.carried) == ((), ())


def test_a_dropped_remainder_is_told_even_after_the_last_iteration() -> None:
    samples = sample_shapes([1] * 8, rollouts=[0, 0, 1, 2, 2, 3, 4, 4])
    for is_last in (False, True):
        made = cut(samples, fixed(2, Remainder.DROP), is_last=is_last)
        assert made.steps == ((0, 1, 2), (3, 4, 5))
        assert (made.dropped, made.carried) == ((6, 7), ())


def test_a_carried_remainder_waits_and_is_trained_after_the_last_iteration() -> None:
    samples = sample_shapes([1] * 8, rollouts=[0, 0, 1, 2, 2, 3, 4, 4])
    policy = fixed(2, Remainder.CARRY)
    assert (cut(samples, policy).steps, cut(samples, policy).carried) == (((0, 1, 2), (3, 4, 5)), (6, 7))
    last = cut(samples, policy, is_last=True)
    assert (last.steps, last.carried) == (((0, 1, 2), (3, 4, 5), (6, 7)), ())


def test_a_step_larger_than_the_iteration_takes_what_there_is() -> None:
    samples = sample_shapes([1, 1, 1])
    assert cut(samples, fixed(10)).steps == ((0, 1, 2),)
    assert cut(samples, fixed(10, Remainder.DROP)).dropped == (0, 1, 2)
    assert cut(samples, fixed(10, Remainder.CARRY)).carried == (0, 1, 2)


def test_samples_of_a_rollout_that_lie_apart_come_together() -> None:
    made = cut(sample_shapes([1] * 4, rollouts=["a", "b", "a", "b"]), fixed(1))
    assert made.steps == ((0, 2), (1, 3))


@given(batches(), st.booleans())
def test_no_samples_make_no_step(batch: BatchSpec, is_last: bool) -> None:
    made = cut([], batch, is_last=is_last)
    assert (made.steps, made.dropped, made.carried) == ((), (), ())


def test_a_ramp_grows_within_an_iteration_and_counts_the_samples_not_the_rollouts() -> None:
    samples = sample_shapes([1] * 24, rollouts=[i // 2 for i in range(24)])
    made = cut(samples, ramp(2, 4, 1, 8))
    # 4, then 8 samples are behind the second and third step, and 8 samples end the ramp.
    assert sizes_of(samples, made.steps) == [2, 3, 4, 3]


def test_explicit_sizes_go_on_where_the_last_iteration_ended() -> None:
    samples = sample_shapes([1] * 7)
    made = cut_into_steps(
        samples, explicit(9, 1, 2, 3), position=BatchPosition(step=1, samples=9), is_last_iteration=False
    )
    assert sizes_of(samples, made.steps) == [1, 2, 3, 1]


def test_what_the_controller_decided_is_the_size() -> None:
    samples = sample_shapes([1] * 9)
    control = adaptive(2, 8, mode="control", global_batch_size=3)
    assert sizes_of(samples, cut(samples, control).steps) == [3, 3, 3]
    assert sizes_of(samples, cut(samples, control, decided_size=4).steps) == [4, 4, 1]
    assert sizes_of(samples, cut(samples, adaptive(2, 8)).steps) == [9]


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([4, 4, 4, 4], [3, 1]),  # 8 and 12 are equally near to 10: the third joins
        ([4, 4, 3, 9], [3, 1]),  # 11 is nearer to 10 than 8
        ([25, 1, 1], [1, 2]),  # longer than a step, alone
        ([5, 15, 2], [1, 1, 1]),  # 20 is further than 5
        ([9, 2], [2]),  # 9 and 11 likewise
    ],
)
def test_a_token_step_closes_where_one_more_would_lead_further(lengths: list[int], sizes: list[int]) -> None:
    samples = sample_shapes(lengths)
    assert sizes_of(samples, cut(samples, token_budget(10)).steps) == sizes


def test_the_last_rollouts_fill_a_token_step_where_one_of_mean_length_would_lead_further() -> None:
    near, far = sample_shapes([6, 6, 6, 6]), sample_shapes([6, 6, 6])
    policy = token_budget(13, Remainder.DROP)
    assert (sizes_of(near, cut(near, policy).steps), cut(near, policy).dropped) == ([2, 2], ())
    assert (sizes_of(far, cut(far, policy).steps), cut(far, policy).dropped) == ([2], (2,))


@given(shapes_of_an_iteration())
def test_all_makes_one_step_of_everything(samples: list[SampleShape]) -> None:
    assert cut(samples, ALL).steps == (tuple(range(len(samples))),)


@given(shapes_of_an_iteration(), batches(), st.booleans(), st.integers(0, 2**32))
def test_every_sample_is_in_one_place_and_no_rollout_is_split(
    samples: list[SampleShape], batch: BatchSpec, is_last: bool, seed: int
) -> None:
    samples = Random(seed).sample(samples, len(samples))
    made = cut(samples, batch, is_last=is_last)
    assert sorted(chain(*made.steps, made.dropped, made.carried)) == list(range(len(samples)))
    owners = [rollouts_of(samples, part) for part in (*made.steps, made.dropped, made.carried)]
    assert sum(map(len, owners)) == len(set().union(*owners))
    assert all(made.steps)
    assert not made.dropped or batch.remainder is Remainder.DROP
    assert not made.carried or (batch.remainder is Remainder.CARRY and not is_last)


@given(shapes_of_an_iteration(), batches(), st.booleans())
def test_steps_are_as_large_as_declared_but_for_a_partial_last_one(
    samples: list[SampleShape], batch: BatchSpec, is_last: bool
) -> None:
    if isinstance(batch, TokenBudgetBatchSpec):
        return
    made, position = cut(samples, batch, is_last=is_last), BatchPosition()
    may_be_partial = batch.remainder is Remainder.PARTIAL or (batch.remainder is Remainder.CARRY and is_last)
    for k, step in enumerate(made.steps):
        size, is_partial = next_size(batch, position), may_be_partial and k + 1 == len(made.steps)
        num_rollouts = len(rollouts_of(samples, step))
        assert size is None or num_rollouts == size or (is_partial and num_rollouts < size)
        position = position.after(len(step))
    left = rollouts_of(samples, (*made.dropped, *made.carried))
    size = next_size(batch, position)
    assert size is None or len(left) < size


@given(shapes_of_an_iteration(), st.integers(1, 2_000) | st.integers(1, 500_000))
def test_no_token_step_comes_nearer_to_its_budget_by_one_rollout_less_or_more(
    samples: list[SampleShape], budget: int
) -> None:
    made = cut(samples, token_budget(budget, Remainder.DROP))

    def off(rollouts: list[str]) -> int:
        return abs(sum(sample.num_tokens for sample in samples if sample.rollout_id in rollouts) - budget)

    order = list(dict.fromkeys(sample.rollout_id for sample in samples))
    first = 0
    for step in made.steps:
        end = first + len(rollouts_of(samples, step))
        assert end - first == 1 or off(order[first:end]) <= off(order[first : end - 1])
        assert end == len(order) or off(order[first:end]) < off(order[first : end + 1])
        first = end
