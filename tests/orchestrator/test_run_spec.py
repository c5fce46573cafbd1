from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.contracts.batch_spec import Remainder
from orchestrator.contracts.run_spec import RunSpec
from tests.orchestrator.factories import case
from tests.orchestrator.run_factories import run_spec
from trainer.contracts.text_model import FieldError


def blocks(**changes: dict[str, Any]) -> dict[str, Any]:
    """A small run as plain data; `changes` update fields of its blocks."""
    spec = run_spec().model_dump(mode="json")
    return spec | {name: spec[name] | fields for name, fields in changes.items()}


def named_fields(**changes: Any) -> tuple[str, ...]:
    """The fields that the one cross-field error of a spec names, each of which its message names too."""
    return fields_of(blocks(**changes))


def fields_of(spec: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(spec)
    (error,) = refused.value.errors()
    cause = error["ctx"]["error"]
    assert isinstance(cause, FieldError)
    assert all(field in str(cause) for field in cause.fields)
    return cause.fields


def reject_at_submit(**batch: Any) -> dict[str, Any]:
    given = case("schedule", "reject-at-submit")["given"]
    return {
        "data": {"rollout_batch_size": given["rollout_batch_size"]},
        "rollout": {"group_size": given["group_size"]},
        "batch": given["batch"] | batch,
    }


def test_a_plan_that_fills_no_step_is_refused_at_submit() -> None:
    assert list(named_fields(**reject_at_submit())) == case("schedule", "reject-at-submit")["expect"]["names"]


@pytest.mark.parametrize("batch", [{"remainder": Remainder.PARTIAL}, {"global_batch_size": 64}])
def test_a_plan_that_fills_a_step_is_accepted(batch: dict[str, Any]) -> None:
    RunSpec.model_validate(blocks(**reject_at_submit(**batch)))


def test_what_the_refusal_of_a_plan_proposes_is_accepted() -> None:
    for change in (
        {"batch": {"type": "fixed", "global_batch_size": 64, "remainder": "drop"}},
        {"data": {"rollout_batch_size": 32}},
        {"rollout": {"group_size": 32}},
    ):
        plan = reject_at_submit()
        RunSpec.model_validate(blocks(**{name: fields | change.get(name, {}) for name, fields in plan.items()}))


NEEDED = ("data.rollout_batch_size", "rollout.group_size")
"""What every refused plan of 8 × 8 rollouts in 2 iterations names beside the batch's own field."""
IMPOSSIBLE = [
    ({"type": "fixed", "global_batch_size": 65, "remainder": "drop"}, "batch.global_batch_size", NEEDED),
    ({"type": "fixed", "global_batch_size": 129, "remainder": "carry"}, "batch.global_batch_size", NEEDED),
    (
        {"type": "ramp", "start": 8, "end": 72, "increment": 8, "over_samples": 32, "remainder": "drop"},
        "batch.end",
        NEEDED,
    ),
    (
        {"type": "ramp", "start": 136, "end": 144, "increment": 8, "over_samples": 64, "remainder": "carry"},
        "batch.start",
        NEEDED,
    ),
    ({"type": "explicit", "sizes": [8, 65], "remainder": "drop"}, "batch.sizes", NEEDED),
    ({"type": "explicit", "sizes": [129, 8], "remainder": "carry"}, "batch.sizes", NEEDED),
    (
        {"type": "explicit", "table": [{"from_step": 0, "global_batch_size": 65}], "remainder": "drop"},
        "batch.table",
        NEEDED,
    ),
    (
        {"type": "adaptive", "min_size": 1, "max_size": 99, "global_batch_size": 65, "remainder": "drop"},
        "batch.global_batch_size",
        NEEDED,
    ),
    (
        {
            "type": "adaptive",
            "mode": "control",
            "min_size": 1,
            "max_size": 65,
            "global_batch_size": 8,
            "remainder": "drop",
        },
        "batch.max_size",
        NEEDED,
    ),
    # 64 rollouts of at most 72 tokens.
    (
        {"type": "token_budget", "tokens_per_step": 64 * 72 + 1, "remainder": "drop"},
        "batch.tokens_per_step",
        (*NEEDED, "data.max_prompt_tokens", "rollout.max_new_tokens"),
    ),
    (
        {"type": "token_budget", "tokens_per_step": 128 * 72 + 1, "remainder": "carry"},
        "batch.tokens_per_step",
        (*NEEDED, "data.max_prompt_tokens", "rollout.max_new_tokens"),
    ),
]


def with_batch(batch: dict[str, Any]) -> dict[str, Any]:
    """A run of 2 iterations of 8 × 8 rollouts with this batch and no other."""
    return blocks(**{name: fields for name, fields in reject_at_submit().items() if name != "batch"}) | {
        "batch": batch,
        "iterations": 2,
    }


@pytest.mark.parametrize(("batch", "own", "others"), IMPOSSIBLE)
def test_an_impossible_plan_is_refused_with_its_fields(
    batch: dict[str, Any], own: str, others: tuple[str, ...]
) -> None:
    carries = batch["remainder"] == "carry"
    assert fields_of(with_batch(batch)) == (own, *(("iterations",) if carries else ()), *others)


@pytest.mark.parametrize("batch", [batch for batch, _, _ in IMPOSSIBLE])
def test_any_step_can_be_made_of_what_there_is_under_partial(batch: dict[str, Any]) -> None:
    RunSpec.model_validate(with_batch(batch | {"remainder": "partial"}))


@pytest.mark.parametrize(
    "batch",
    [
        {"type": "fixed", "global_batch_size": 128, "remainder": "carry"},
        {"type": "ramp", "start": 8, "end": 64, "increment": 8, "over_samples": 64, "remainder": "drop"},
        {"type": "ramp", "start": 8, "end": 400, "increment": 8, "over_samples": 64, "remainder": "carry"},
        {"type": "explicit", "sizes": [1, 64], "remainder": "drop"},
        {"type": "adaptive", "min_size": 1, "max_size": 9999, "remainder": "drop"},
        {
            "type": "adaptive",
            "mode": "control",
            "min_size": 1,
            "max_size": 64,
            "global_batch_size": 8,
            "remainder": "drop",
        },
        {"type": "token_budget", "tokens_per_step": 64 * 72, "remainder": "drop"},
        {"type": "token_budget", "tokens_per_step": 128 * 72, "remainder": "carry"},
    ],
)
def test_a_plan_that_can_just_be_filled_is_accepted(batch: dict[str, Any]) -> None:
    RunSpec.model_validate(with_batch(batch))


@pytest.mark.parametrize(
    "batch",
    [
        {
            "type": "explicit",
            "table": [{"from_step": 0, "global_batch_size": 8}, {"from_step": 900, "global_batch_size": 500}],
        },
        {"type": "explicit", "sizes": [8] * 50 + [500]},
        {"type": "ramp", "start": 8, "end": 808, "increment": 8, "over_samples": 10**6},
        # The last iteration cannot fill it, but has trained.
        {"type": "explicit", "sizes": [8] * 10 + [500]},
    ],
)
def test_a_size_that_a_run_never_comes_to_does_no_harm(batch: dict[str, Any]) -> None:
    short = blocks(data={"rollout_batch_size": 31}, rollout={"group_size": 1}, filter={"zero_variance": "include"})
    spec = short | {"batch": batch | {"remainder": "drop"}}
    RunSpec.model_validate(spec | {"iterations": 4})
    if batch["type"] == "explicit" and "sizes" in batch:
        assert fields_of(spec | {"iterations": 50}) == ("batch.sizes", *NEEDED)


def test_a_size_within_reach_that_no_iteration_fills_is_refused_after_any_number_of_steps() -> None:
    batch = {"type": "explicit", "sizes": [8] * 999 + [65], "remainder": "drop"}
    RunSpec.model_validate(with_batch(batch) | {"iterations": 125})
    assert fields_of(with_batch(batch) | {"iterations": 126}) == ("batch.sizes", *NEEDED)


@pytest.mark.parametrize("iterations", [2**53 // 64, 10**30])
def test_more_rollouts_than_can_be_counted_are_refused(iterations: int) -> None:
    batch = {"type": "explicit", "sizes": [8] * 30_000 + [65], "remainder": "drop"}
    assert fields_of(with_batch(batch) | {"iterations": iterations}) == ("iterations", *NEEDED)
    RunSpec.model_validate(with_batch(batch) | {"iterations": 2**53 // 64 - 1})


def test_a_packer_has_nothing_to_do_where_micro_batches_are_cut_by_count() -> None:
    spec = blocks() | {"schedule": {"micro_batch_size": 4}}
    RunSpec.model_validate(spec)
    spec["schedule"]["packer"] = "first_fit"
    assert fields_of(spec) == ("schedule.packer", "schedule.micro_batch_size", "schedule.token_cap")


def test_a_noise_scale_needs_two_ranks_to_compare() -> None:
    spec = with_batch({"type": "adaptive", "min_size": 1, "max_size": 9})
    assert fields_of(spec | {"parallelism": {"dp": 1}}) == ("parallelism.dp", "batch.type")
    assert RunSpec.model_validate(spec).rl_phase.measure_noise
    assert not run_spec().rl_phase.measure_noise


def test_groups_of_one_with_zero_variance_excluded_are_refused() -> None:
    assert named_fields(rollout={"group_size": 1}) == ("rollout.group_size", "filter.zero_variance")
    RunSpec.model_validate(blocks(rollout={"group_size": 1}, filter={"zero_variance": "include"}))


def test_samples_longer_than_the_model_can_read_are_refused() -> None:
    assert named_fields(model={"max_position_embeddings": 71}) == (
        "data.max_prompt_tokens",
        "rollout.max_new_tokens",
        "model.max_position_embeddings",
    )
    RunSpec.model_validate(blocks(model={"max_position_embeddings": 72}))


@pytest.mark.parametrize(
    ("parallelism", "fields"),
    [
        ({"tp": 4}, ("parallelism.tp", "model.num_query_groups")),
        ({"pp": 3}, ("parallelism.pp", "model.num_layers")),
        ({"tp": 3}, ("parallelism.tp", "model.num_attention_heads")),
    ],
)
def test_a_layout_that_does_not_divide_the_model_is_refused(
    parallelism: dict[str, int], fields: tuple[str, ...]
) -> None:
    assert named_fields(parallelism=parallelism) == fields


@pytest.mark.parametrize("block", ["data", "rollout", "batch", "schedule", "algorithm", "optimizer", "parallelism"])
def test_an_unknown_field_is_refused(block: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        RunSpec.model_validate(blocks(**{block: {"typo": 1}}))


def test_a_spec_survives_json() -> None:
    spec = run_spec()
    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec


def test_derived_numbers_follow_from_the_blocks() -> None:
    spec = run_spec()
    assert spec.rollouts_per_iteration == 16
    assert spec.max_sample_tokens == 72
    assert spec.constant_tokens == spec.rollout.max_new_tokens
    assert spec.rl_phase.loss.temperature == spec.rollout.temperature  # type: ignore[union-attr]
    assert spec.warm_start_phase is not None
    assert spec.warm_start_phase.optimizer == spec.optimizer
