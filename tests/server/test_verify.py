from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.contracts.messages import SampleColumns, ScheduleMessage, StepMessage
from server.ingest.verify import step_findings, with_counts
from tests.server.factories import metric, step_message


def changed(path: str, value: Any) -> StepMessage:
    """A right step with one value replaced, by its dotted path."""
    fields = step_message(0, lengths=(5, 9, 70, 12)).model_dump()
    here: Any = fields
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    for part in parents:
        here[part] = here[part] if not isinstance(here[part], tuple) else list(here[part])
        here = here[part]
    here[last] = value
    return StepMessage.model_validate(fields)


@settings(deadline=None)  # times say little on shared machines
@given(st.lists(st.integers(1, 100), min_size=1, max_size=24))
def test_what_the_scheduler_makes_is_right(lengths: list[int]) -> None:
    assert step_findings(step_message(0, lengths=lengths)) == []


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("global_batch_size", 5, "/global_batch_size"),
        ("num_prompts", 3, "/num_prompts"),
        ("num_rollouts", 3, "/num_rollouts"),
        ("num_tokens", 1, "/num_tokens"),
        ("num_loss_tokens", 1, "/num_loss_tokens"),
        ("num_microbatches", 9, "/num_microbatches"),
        ("num_dummies", 9, "/num_dummies"),
        ("num_over_cap", 0, "/num_over_cap"),
        ("schedule.certificate_sha256", "0" * 64, "/schedule/certificate_sha256"),
        ("schedule.samples.weight.0", "1/3", "/schedule/samples/weight"),
        ("schedule.samples.weight", ("0",) * 4, "/schedule/samples/weight"),
        ("schedule.samples.sample_id.0", "s0.1", "/schedule/samples/sample_id"),
        ("schedule.samples.num_loss_tokens.0", 6, "/schedule/samples/num_loss_tokens/0"),
        ("schedule.micro_batches", (((0, 1),), ((2, 4),)), "/schedule/micro_batches"),
        ("schedule.micro_batches", (((0, 1, 2, 3),), ()), "/schedule/micro_batches"),
        ("schedule.micro_batches", (), "/schedule/micro_batches"),
        ("schedule.micro_batches", ((), ()), "/schedule/micro_batches"),
        ("schedule.predicted_cost", ((), ()), "/schedule/predicted_cost"),
        ("schedule.measured_s", ((1.0,),), "/schedule/measured_s"),
        ("schedule.num_positions", ((14,),), "/schedule/num_positions"),
        ("schedule.num_positions", ((70,), (33,)), "/padding_frac"),
        ("schedule.num_positions", ((1,), (2**53,)), "/schedule/num_positions/0/0"),
        ("schedule.num_positions", ((1,), (2**53,)), "/schedule/num_positions/1/0"),
        ("schedule.sample_cost", (1.0,), "/schedule/sample_cost"),
        ("schedule.token_cap", 20, "/schedule/micro_batches"),
        ("schedule.micro_batch_size", 4, "/schedule/token_cap"),
        ("schedule.token_cap", None, "/schedule/token_cap"),
        ("policy_version", 2**53, "/policy_version"),
        ("num_tokens", 2**40 + 1, "/num_tokens"),
        ("global_batch_size", 2**40 + 1, "/global_batch_size"),
        ("num_generated", 5, "/num_generated"),
        ("num_filtered", 3, "/num_generated"),
        ("num_dropped", 1, "/num_generated"),
        ("num_carried_out", 1, "/num_generated"),
        ("num_carried_in", 2**53, "/num_carried_in"),
        ("lr_position_before", 99, "/lr_position_after"),
        ("started_at", "2026-01-02T00:00:00Z", "/ended_at"),
        ("metrics", {"lr": metric(1.0)}, "/metrics/lr"),
        ("metrics", {"a/b": {"value": None, "weight": 1.0, "reduction": "mean"}}, "/metrics/a~1b/value"),
        ("metrics", {"m": {"value": 1.0, "weight": 0.0, "reduction": "mean"}}, "/metrics/m/weight"),
    ],
)
def test_a_contradiction_is_found_where_it_is(path: str, value: Any, pointer: str) -> None:
    assert pointer in [found for found, _ in step_findings(changed(path, value))]


def test_positions_that_hold_no_token_are_the_padding() -> None:
    told = step_message(0, padding_frac=0.25)
    padded = told.schedule.model_copy(update={"num_positions": ((24,), (20,))})
    assert step_findings(told.model_copy(update={"schedule": padded})) == []
    untold = told.model_copy(update={"schedule": padded, "padding_frac": None})
    assert with_counts(untold).padding_frac == 0.25
    nothing_ran = padded.model_copy(update={"num_positions": ((0,), (0,))})
    assert step_findings(told.model_copy(update={"schedule": nothing_ran, "padding_frac": 0.0})) == []


def test_what_a_schedule_counts_for_a_writer_that_does_not_is_bounded_too() -> None:
    found = step_findings(step_message(0, lengths=(2**40 + 1,), num_tokens=None))
    assert [pointer for pointer, _ in found] == ["/schedule/samples/num_tokens"]


def test_a_step_that_is_cut_by_count_keeps_to_it() -> None:
    right = step_message(0, lengths=(5,) * 4)
    by_count = right.schedule.model_copy(
        update={"token_cap": None, "micro_batch_size": 2, "micro_batches": (((0, 1),), ((2, 3),))}
    )
    told = {"num_over_cap": 0, "num_microbatches": 1, "num_dummies": 0}
    assert step_findings(right.model_copy(update={"schedule": by_count, **told})) == []
    too_many = by_count.model_copy(update={"micro_batches": (((0, 1, 2),), ((3,),))})
    found = step_findings(right.model_copy(update={"schedule": too_many, **told}))
    assert "/schedule/micro_batches" in [pointer for pointer, _ in found]


def test_an_interleaved_pipeline_has_whole_groups_of_micro_batches() -> None:
    found = step_findings(changed("schedule.pp", 4))
    assert found == []
    interleaved = step_message(0).schedule.model_copy(update={"pp": 4, "vpp": 2})
    found = step_findings(step_message(0).model_copy(update={"schedule": interleaved}))
    assert [pointer for pointer, _ in found] == ["/schedule/micro_batches"]
    assert "multiple of 4" in found[0][1]


def test_rollouts_that_waited_are_accounted_for() -> None:
    carried = step_message(0, num_generated=3, num_carried_in=4, num_carried_out=1)
    assert step_findings(carried) == []
    later = step_message(1, num_generated=0, num_filtered=0)  # not the first of its iteration
    assert step_findings(later) == []
    samples = carried.schedule.samples.model_copy(update={"age": (1, 1, 1, 0)})
    assert step_findings(carried.model_copy(update={"schedule": _with_samples(carried, samples)})) == []


def test_ages_are_told_of_every_sample_or_of_none() -> None:
    with pytest.raises(ValidationError, match="age has 1 entries"):
        changed("schedule.samples.age", (1,))


def test_a_step_without_loss_tokens_weighs_nothing_and_is_right() -> None:
    skipped = step_message(0, lengths=(3,), status="skipped:no_signal").model_dump()
    samples = skipped["schedule"]["samples"]
    samples |= {"num_loss_tokens": (0,), "weight": ("0",)}
    skipped["num_loss_tokens"] = 0
    found = step_findings(StepMessage.model_validate(skipped))
    assert [pointer for pointer, _ in found] == ["/schedule/certificate_sha256"]  # of the weights before


def _with_samples(message: StepMessage, samples: SampleColumns) -> ScheduleMessage:
    return message.schedule.model_copy(update={"samples": samples})
