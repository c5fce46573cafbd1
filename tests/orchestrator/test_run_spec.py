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
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(blocks(**changes))
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
