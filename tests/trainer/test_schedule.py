from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer import factories
from trainer.contracts.schedule import dp_schedule_problems, step_schedule_problems


def test_worked_example_of_the_docstring():
    plan = factories.schedule([[[2]], [[0, 1]]], [[[3]], [[]]])
    assert plan.partitions == ((2, 3), (0, 1))
    assert plan.micro_batch_indices == (((0,), (1,)), ((0, 1), ()))
    assert plan.num_microbatches == (1, 1)
    assert plan.global_batch_sizes == (3, 1)
    assert plan.step_samples(0) == (0, 1, 2)
    assert plan.step(1).micro_batches == (((0,),), ((),))
    assert plan.step(1).num_dummies == 1
    assert not dp_schedule_problems(plan, lengths=[1, 1, 1, 1], token_cap=None)


@given(seed=st.integers(0, 2**32 - 1), dp=st.integers(1, 4), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_any_cut_of_consecutive_samples_holds_and_names_its_steps(seed, dp, sizes):
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    steps = [
        [[[int(starts[k]) + i for i in micro_batch] for micro_batch in rank] for rank in cut]
        for k, cut in enumerate(factories.random_step(rng, size, dp=dp) for size in sizes)
    ]
    plan = factories.schedule(*steps)
    assert not dp_schedule_problems(plan, lengths=[1] * sum(sizes), token_cap=None)
    for k, size in enumerate(sizes):
        assert plan.step_samples(k) == tuple(range(starts[k], starts[k + 1]))
        step = plan.step(k)
        assert step.dp_size == dp
        assert step.global_batch_size == size == plan.global_batch_sizes[k]
        assert step.num_microbatches == plan.num_microbatches[k]
        assert not step_schedule_problems(step, lengths=[1] * size, token_cap=None)


def problems(plan, *, lengths=(2, 3, 4), token_cap=None):
    return "; ".join(dp_schedule_problems(plan, lengths=lengths, token_cap=token_cap))


def test_each_broken_invariant_is_named():
    plan = factories.schedule([[[0, 1]], [[2]]])
    assert problems(plan) == ""
    assert "twice [1], missing [0]" in problems(replace(plan, partitions=((1, 1), (2,))))
    assert "unknown [3]" in problems(replace(plan, partitions=((0, 1), (3,))))
    assert "do not tile" in problems(replace(plan, micro_batch_indices=(((1, 0),), ((0,),))))
    assert "rank 1 has 2 micro-batches" in problems(replace(plan, micro_batch_indices=(((0, 1),), ((0,), ()))))
    assert "global_batch_sizes says 4" in problems(replace(plan, global_batch_sizes=(4,)))
    assert "weighs 2 samples" in problems(replace(plan, certificates=(factories.certificate(2),)))


def test_only_micro_batches_of_several_samples_must_keep_the_cap():
    plan = factories.schedule([[[0, 1]], [[2]]])
    assert "5 tokens exceed token_cap=4" in problems(plan, token_cap=4)
    assert problems(plan, lengths=(2, 2, 9), token_cap=4) == ""
    assert plan.step(0).over_cap([2, 2, 9], 4) == 1


def test_only_so_many_samples_share_a_micro_batch_where_they_are_counted():
    plan = factories.schedule([[[0, 1]], [[2]]])
    arguments = {"lengths": (2, 3, 4), "token_cap": None}
    assert not dp_schedule_problems(plan, micro_batch_size=2, **arguments)
    assert dp_schedule_problems(plan, micro_batch_size=1, **arguments) == [
        "step 0: rank 0, micro-batch 0: 2 samples exceed micro_batch_size=1"
    ]


def test_an_interleaved_pipeline_runs_whole_groups():
    plan = factories.schedule([[[0], [1]], [[2], []]])
    arguments = {"lengths": (2, 3, 4), "token_cap": None}
    assert not dp_schedule_problems(plan, count_multiple=2, **arguments)
    (problem,) = dp_schedule_problems(plan, count_multiple=4, **arguments)
    assert problem == "step 0: 2 micro-batches on each rank are not a multiple of 4, the pipeline's group"


def test_parallel_fields_must_agree():
    plan = factories.schedule([[[0]], [[1]]])
    with pytest.raises(ValueError, match="per data-parallel rank"):
        replace(plan, partitions=((0, 1),))
    with pytest.raises(ValueError, match="per step"):
        replace(plan, global_batch_sizes=(2, 1))
