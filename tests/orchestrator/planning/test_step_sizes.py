import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.batch_spec import BatchSpec, Remainder
from orchestrator.planning.step_sizes import KeptRollouts, foresee_sizes
from tests.orchestrator.batch_factories import ALL, batches, fixed, ramp


def kept(iterations: int, *, num_groups: int = 8, group_size: int = 4, kept_frac: float = 1.0) -> KeptRollouts:
    return KeptRollouts(iterations=iterations, num_groups=num_groups, group_size=group_size, kept_frac=kept_frac)


def test_whole_groups_are_kept_and_over_time_exactly_their_share() -> None:
    assert list(kept(4, num_groups=3, kept_frac=0.5)) == [4, 8, 4, 8]
    assert list(kept(3, num_groups=10, group_size=1, kept_frac=0.3)) == [3, 3, 3]
    assert kept(10**9, kept_frac=0.5).total == 10**9 * 16


@given(batches(), st.integers(1, 40), st.floats(0.01, 1.0), st.floats(1.0, 5_000.0))
def test_every_kept_rollout_is_in_a_step_or_dropped(
    batch: BatchSpec, iterations: int, kept_frac: float, tokens: float
) -> None:
    rollouts = kept(iterations, kept_frac=kept_frac)
    sizes = foresee_sizes(batch, rollouts, tokens_per_rollout=tokens, max_steps=20_000)
    assert sizes.counted
    assert len(sizes.steps) == sizes.num_steps
    assert sum(step.num_rollouts for step in sizes.steps) == sizes.num_rollouts
    assert sizes.num_rollouts + sizes.num_dropped == sum(rollouts)
    if batch.remainder is not Remainder.DROP:
        assert sizes.num_dropped == 0
    iterations_of_steps = [step.iteration for step in sizes.steps]
    assert iterations_of_steps == sorted(iterations_of_steps)


def test_a_run_without_end_is_counted_by_its_last_steps() -> None:
    sizes = foresee_sizes(fixed(24), kept(10**12), tokens_per_rollout=1, max_steps=100)
    assert len(sizes.steps) == 100
    assert not sizes.counted
    assert sizes.num_steps == 2 * 10**12
    assert sizes.num_rollouts == 32 * 10**12


@pytest.mark.parametrize("remainder", Remainder)
@pytest.mark.parametrize("kept_frac", [1.0, 0.29, 1e-6])
def test_what_goes_on_stays_within_what_can_be_counted(remainder: Remainder, kept_frac: float) -> None:
    rollouts = kept((2**53 - 1) // 32, kept_frac=kept_frac)
    sizes = foresee_sizes(fixed(1, remainder), rollouts, tokens_per_rollout=1, max_steps=100)
    assert 0 <= sizes.num_steps <= sizes.num_rollouts <= rollouts.total < 2**53
    assert sizes.num_rollouts + sizes.num_dropped == rollouts.total


def test_a_ramp_goes_on_through_the_run() -> None:
    sizes = foresee_sizes(ramp(8, 16, 8, 160), kept(7, num_groups=8, group_size=4), tokens_per_rollout=1, max_steps=100)
    assert [step.num_rollouts for step in sizes.steps] == [8] * 20 + [16] * 4


def test_one_step_of_all_that_an_iteration_keeps() -> None:
    sizes = foresee_sizes(ALL, kept(3, kept_frac=0.5), tokens_per_rollout=1, max_steps=100)
    assert [(step.iteration, step.num_rollouts) for step in sizes.steps] == [(0, 16), (1, 16), (2, 16)]
