from __future__ import annotations

from itertools import chain
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batch_policy import cut_into_steps
from orchestrator.contracts.batch_spec import AllBatchSpec, FixedBatchSpec, Remainder
from orchestrator.sample_shape import SampleShape
from tests.orchestrator.factories import case, sample_shapes, shapes_of_an_iteration

ALL = AllBatchSpec(type="all")


def fixed(global_batch_size: int, remainder: Remainder = Remainder.PARTIAL) -> FixedBatchSpec:
    return FixedBatchSpec(type="fixed", global_batch_size=global_batch_size, remainder=remainder)


def rollouts_of(samples: list[SampleShape], step: tuple[int, ...]) -> set[str]:
    return {samples[i].rollout_id for i in step}


def test_a_remainder_makes_a_smaller_step_and_loses_nothing() -> None:
    remainder = case("schedule", "remainder")
    owners = remainder["given"]["rollout_of_sample"]
    samples = sample_shapes([1] * len(owners), rollouts=owners)
    policy = fixed(remainder["given"]["rollouts_per_step"], Remainder(remainder["given"]["remainder"]))
    cut = cut_into_steps(samples, policy)
    assert [list(step) for step in cut.steps] == remainder["expect"]["steps"]
    assert [len(rollouts_of(samples, step)) for step in cut.steps] == remainder["expect"]["rollouts"]
    assert cut.dropped == ()


def test_a_dropped_remainder_is_told() -> None:
    samples = sample_shapes([1] * 8, rollouts=[0, 0, 1, 2, 2, 3, 4, 4])
    cut = cut_into_steps(samples, fixed(2, Remainder.DROP))
    assert cut.steps == ((0, 1, 2), (3, 4, 5))
    assert cut.dropped == (6, 7)


def test_a_step_larger_than_the_iteration_takes_what_there_is() -> None:
    samples = sample_shapes([1, 1, 1])
    assert cut_into_steps(samples, fixed(10)).steps == ((0, 1, 2),)
    assert cut_into_steps(samples, fixed(10, Remainder.DROP)).dropped == (0, 1, 2)


def test_samples_of_a_rollout_that_lie_apart_come_together() -> None:
    cut = cut_into_steps(sample_shapes([1] * 4, rollouts=["a", "b", "a", "b"]), fixed(1))
    assert cut.steps == ((0, 2), (1, 3))


def test_no_samples_make_no_step() -> None:
    for policy in (ALL, fixed(3), fixed(3, Remainder.DROP)):
        assert cut_into_steps([], policy).steps == ()


@given(shapes_of_an_iteration())
def test_all_makes_one_step_of_everything(samples: list[SampleShape]) -> None:
    assert cut_into_steps(samples, ALL).steps == (tuple(range(len(samples))),)


@given(shapes_of_an_iteration(), st.integers(1, 12), st.sampled_from(Remainder), st.integers(0, 2**32))
def test_every_sample_is_in_one_step_or_dropped(
    samples: list[SampleShape], size: int, remainder: Remainder, seed: int
) -> None:
    samples = Random(seed).sample(samples, len(samples))
    cut = cut_into_steps(samples, fixed(size, remainder))
    assert sorted(chain(*cut.steps, cut.dropped)) == list(range(len(samples)))


@given(shapes_of_an_iteration(), st.integers(1, 12), st.sampled_from(Remainder))
def test_steps_hold_whole_rollouts_and_are_full_but_for_the_last(
    samples: list[SampleShape], size: int, remainder: Remainder
) -> None:
    cut = cut_into_steps(samples, fixed(size, remainder))
    owners = [rollouts_of(samples, step) for step in (*cut.steps, cut.dropped)]
    assert sum(map(len, owners)) == len(set().union(*owners))
    full = cut.steps if remainder is Remainder.DROP else cut.steps[:-1]
    assert all(len(rollouts_of(samples, step)) == size for step in full)
    assert remainder is Remainder.DROP or not cut.dropped
