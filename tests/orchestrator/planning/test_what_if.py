from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.contracts.messages import ScheduleMessage
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.contracts.what_if import WhatIfRequest
from orchestrator.planning.what_if import what_if
from tests.orchestrator.factories import sample_shapes, step_geometry
from tests.orchestrator.planning.factories import SECONDS_PER_COST, stored_schedule, stored_schedules
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.schedule import StepSchedule, step_schedule_problems
from trainer.contracts.text_model import FieldError

Ranks = tuple[tuple[tuple[int, ...], ...], ...]
Costs = tuple[tuple[float, ...], ...]
FOUR = stored_schedule(sample_shapes([9, 9, 9, 2]), step_geometry(dp_size=2))


@st.composite
def requests(draw: st.DrawFn) -> WhatIfRequest:
    pp = draw(st.integers(1, 4))
    vpp = draw(st.integers(1, 3)) if pp > 1 else 1
    cut = draw(
        st.fixed_dictionaries({"token_cap": st.integers(1, 100_000)})
        | st.fixed_dictionaries({"micro_batch_size": st.integers(1, 9)})
        | st.just({})
    )
    return WhatIfRequest(
        dp=draw(st.integers(1, 16)),
        cp=draw(st.integers(1, 4)),
        pp=pp,
        vpp=vpp,
        packer=draw(st.sampled_from(Packer)) if "token_cap" in cut else None,
        balance=draw(st.sampled_from(Balance)),
        barrier=draw(st.sampled_from(Barrier)),
        **cut,
    )


def real_costs(micro_batches: Ranks, predicted_cost: Costs) -> list[float]:
    both = zip(chain.from_iterable(micro_batches), chain.from_iterable(predicted_cost), strict=True)
    return [cost for micro_batch, cost in both if micro_batch]


@settings(deadline=None)
@given(stored_schedules())
def test_with_nothing_changed_the_figures_are_those_of_what_ran(schedule: ScheduleMessage) -> None:
    answer = what_if(schedule, WhatIfRequest())
    assert answer.asked == answer.ran
    assert answer.asked_figures.num_microbatches == answer.ran_figures.num_microbatches
    assert answer.asked_figures.makespan == pytest.approx(answer.ran_figures.makespan)
    assert answer.asked_figures.predicted_idle_frac == pytest.approx(answer.ran_figures.predicted_idle_frac, abs=1e-9)
    assert answer.change.makespan_frac == pytest.approx(0, abs=1e-9)
    # A dummy runs as one token would, which samples of one length cannot tell.
    assert real_costs(answer.micro_batches, answer.predicted_cost) == pytest.approx(
        real_costs(schedule.micro_batches, schedule.predicted_cost)
    )


@settings(deadline=None)
@given(stored_schedules(), requests())
def test_whatever_is_asked_places_every_sample_once_under_the_cap_with_the_same_weights(
    schedule: ScheduleMessage, request: WhatIfRequest
) -> None:
    answer = what_if(schedule, request)
    assert answer.certificate_sha256 == schedule.certificate_sha256
    assert len(answer.micro_batches) == request.dp
    cap = None if answer.asked.token_cap is None else answer.asked.token_cap * answer.asked.cp
    nothing = Certificate(
        loss_aggregation=LossAggregation.CONSTANT,
        sample_ids=schedule.samples.sample_id,
        weights=(0,) * schedule.samples.size,  # type: ignore[arg-type]
    )
    step = StepSchedule(micro_batches=answer.micro_batches, certificate=nothing)
    assert not step_schedule_problems(step, lengths=schedule.samples.num_tokens, token_cap=cap)
    if request.micro_batch_size is not None:
        assert max(map(len, chain.from_iterable(answer.micro_batches))) <= request.micro_batch_size
    if answer.asked.vpp > 1:
        assert answer.asked_figures.num_microbatches % answer.asked.pp == 0


def test_one_rank_takes_as_long_as_both_did() -> None:
    answer = what_if(FOUR, WhatIfRequest(dp=1))
    assert (answer.ran.dp, answer.asked.dp) == (2, 1)
    total = sum(FOUR.sample_cost)
    assert answer.asked_figures.makespan == pytest.approx(total)
    assert answer.asked_figures.predicted_s == pytest.approx(total * SECONDS_PER_COST)
    assert answer.change.makespan_frac == pytest.approx(total / answer.ran_figures.makespan - 1)
    assert answer.asked_figures.predicted_idle_frac == 0


def test_context_parallelism_divides_the_cost_and_multiplies_the_room() -> None:
    answer = what_if(FOUR, WhatIfRequest(cp=2))
    assert answer.asked_figures.makespan == pytest.approx(answer.ran_figures.makespan / 2)
    assert answer.asked_figures.max_micro_batch_tokens <= 20
    assert sum(map(sum, answer.predicted_cost)) == pytest.approx(sum(FOUR.sample_cost) / 2)


def test_a_pipeline_divides_the_cost_and_adds_its_bubble() -> None:
    alone = stored_schedule(sample_shapes([10, 10, 10, 10]), step_geometry(dp_size=1))
    cost = alone.sample_cost[0]
    assert what_if(alone, WhatIfRequest(pp=2)).asked_figures.makespan == pytest.approx((4 * cost + cost) / 2)
    assert what_if(alone, WhatIfRequest(pp=2, vpp=2)).asked_figures.makespan == pytest.approx((4 * cost + cost / 2) / 2)


def test_a_barrier_at_every_micro_batch_waits_for_the_largest_each_time() -> None:
    answer = what_if(FOUR, WhatIfRequest(barrier=Barrier.MICRO_BATCH, balance=Balance.NONE))
    rows = zip(*answer.predicted_cost, strict=True)
    assert answer.asked_figures.makespan == pytest.approx(sum(map(max, rows)))


def test_without_measured_times_nothing_is_said_in_seconds() -> None:
    unmeasured = FOUR.model_copy(update={"measured_s": tuple((0.0,) * len(rank) for rank in FOUR.micro_batches)})
    answer = what_if(unmeasured, WhatIfRequest(dp=1))
    assert answer.asked_figures.predicted_s is None
    assert answer.change.predicted_s is None
    assert answer.ran_measured is None


def test_ranks_of_unequal_speed_are_averaged_in_the_estimate_and_told_as_measured() -> None:
    even = stored_schedule(sample_shapes([9, 9]), step_geometry(dp_size=2))
    answer = what_if(even.model_copy(update={"measured_s": ((0.763,), (0.078,))}), WhatIfRequest(dp=1))
    assert answer.ran_measured is not None
    assert answer.ran_measured.makespan_s == 0.763
    assert answer.ran_measured.idle_frac == pytest.approx(1 - 0.841 / (2 * 0.763))
    assert answer.ran_figures.predicted_s == pytest.approx(0.841 / 2)
    assert answer.asked_figures.predicted_s == pytest.approx(0.841)


@settings(deadline=None)
@given(stored_schedules())
def test_where_the_costs_were_right_and_no_barrier_was_foreseen_the_estimate_is_what_was_measured(
    schedule: ScheduleMessage,
) -> None:
    answer = what_if(schedule, WhatIfRequest())
    if schedule.barrier is Barrier.STEP and schedule.pp == 1 and answer.ran_measured is not None:
        assert answer.ran_measured.makespan_s == pytest.approx(answer.ran_figures.predicted_s)
        assert answer.ran_measured.idle_frac == pytest.approx(answer.ran_figures.predicted_idle_frac, abs=1e-9)


def test_without_stored_costs_tokens_stand_for_them() -> None:
    answer = what_if(FOUR.model_copy(update={"sample_cost": (0.0,) * 4}), WhatIfRequest(dp=1))
    assert answer.asked_figures.makespan == 29


def test_a_cap_takes_the_place_of_a_size_and_the_other_way_round() -> None:
    by_size = what_if(FOUR, WhatIfRequest(micro_batch_size=2))
    assert (by_size.asked.micro_batch_size, by_size.asked.token_cap) == (2, None)
    sized = stored_schedule(sample_shapes([9, 9, 9, 2]), step_geometry(dp_size=2, micro_batch_size=1))
    by_cap = what_if(sized, WhatIfRequest(token_cap=29, dp=1))
    assert (by_cap.asked.micro_batch_size, by_cap.asked.token_cap) == (None, 29)
    assert by_cap.change.num_microbatches == -1


def test_a_packer_has_nothing_to_do_where_micro_batches_are_cut_by_count() -> None:
    with pytest.raises(FieldError, match="packs under a token cap") as caught:
        what_if(FOUR, WhatIfRequest(micro_batch_size=2, packer=Packer.FIRST_FIT))
    assert caught.value.fields == ("packer", "micro_batch_size", "token_cap")
    sized = stored_schedule(sample_shapes([9, 9, 9, 2]), step_geometry(dp_size=2, micro_batch_size=1))
    with pytest.raises(FieldError, match="packs under a token cap"):
        what_if(sized, WhatIfRequest(packer=Packer.FIRST_FIT))
    capped = stored_schedule(sample_shapes([9, 9, 9, 2]), step_geometry(dp_size=2, packer=Packer.FIRST_FIT))
    assert what_if(capped, WhatIfRequest(micro_batch_size=2)).asked.packer is Packer.FIRST_FIT_DECREASING


def test_stages_of_a_pipeline_that_is_not_there_are_refused() -> None:
    with pytest.raises(FieldError, match="vpp=2") as caught:
        what_if(FOUR, WhatIfRequest(vpp=2))
    assert caught.value.fields == ("vpp", "pp")


def test_more_ranks_than_can_be_shown_are_refused() -> None:
    with pytest.raises(FieldError, match="at most") as caught:
        what_if(FOUR, WhatIfRequest(dp=60_000, pp=2))
    assert caught.value.fields == ("dp", "pp")
    with pytest.raises(FieldError, match="micro-batches of a rank") as caught:
        what_if(FOUR, WhatIfRequest(pp=256, vpp=256))
    assert caught.value.fields == ("pp", "vpp")
    with pytest.raises(ValidationError):
        WhatIfRequest(dp=10**9)
    with pytest.raises(ValidationError):
        WhatIfRequest(token_cap=1, micro_batch_size=1)
