from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.batching.batch_policy import StepCut
from orchestrator.contracts.batch_spec import BatchSpec
from orchestrator.rollouts.rollout_counts import NO_ROLLOUTS, count_rollouts
from orchestrator.sample_shape import SampleShape
from tests.orchestrator.batch_factories import batches, cut
from tests.orchestrator.factories import sample_shapes, shapes_of_an_iteration


@given(shapes_of_an_iteration(), batches(), st.booleans(), st.integers(0, 20), st.data())
def test_what_comes_in_goes_out(
    samples: list[SampleShape], batch: BatchSpec, is_last: bool, num_filtered: int, data: st.DataObject
) -> None:
    num_kept = len({sample.rollout_id for sample in samples})
    num_carried_in = data.draw(st.integers(0, num_kept))
    made = cut(samples, batch, is_last=is_last)
    counts = count_rollouts(
        samples,
        made,
        num_generated=num_kept - num_carried_in + num_filtered,
        num_filtered=num_filtered,
        num_carried_in=num_carried_in,
    )
    num_trained = sum(len({samples[i].rollout_id for i in step}) for step in made.steps)
    assert counts.num_trained == num_trained
    assert counts.num_carried_in + counts.num_generated == (
        counts.num_filtered + counts.num_dropped + counts.num_carried_out + num_trained
    )


@pytest.mark.parametrize(
    "wrong",
    [
        StepCut(steps=((0, 1),)),  # rollout 1 is nowhere
        StepCut(steps=((0, 1), (2,)), carried=(3,)),  # rollout 1 is split
        StepCut(steps=((0, 1), (2, 3)), dropped=(0, 1)),  # rollout 0 is in two places
    ],
)
def test_books_that_do_not_balance_are_an_error(wrong: StepCut) -> None:
    samples = sample_shapes([1] * 4, rollouts=[0, 0, 1, 1])
    with pytest.raises(RuntimeError, match="do not balance"):
        count_rollouts(samples, wrong, num_generated=2, num_filtered=0, num_carried_in=0)


def test_no_rollouts_are_in_balance() -> None:
    assert NO_ROLLOUTS.num_trained == 0
