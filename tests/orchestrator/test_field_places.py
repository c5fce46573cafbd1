from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.contracts.field_places import field_places
from orchestrator.contracts.plan import PlanRequest
from orchestrator.contracts.run_spec import RunSpec
from tests.orchestrator.run_factories import run_spec
from trainer.contracts.text_model import FieldError

LED = "unknown field; the spec has it as limits.max_restarts"


def told(changes: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(run_spec().model_dump(mode="json") | changes)
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


def test_places_are_dotted_paths_also_through_choices_and_lists() -> None:
    places = field_places(RunSpec)
    assert places["max_restarts"] == ("limits.max_restarts",)
    assert places["lr"] == ("warm_start.optimizer.lr", "optimizer.lr")
    assert places["weight"] == ("data.tasks.0.weight", "reward.0.weight")


@pytest.mark.parametrize(
    ("changes", "loc", "message"),
    [
        ({"max_restarts": 0}, ("max_restarts",), LED),
        (
            {"checkpoint": {"max_restarts": 0}},
            ("checkpoint", "max_restarts"),
            LED,
        ),
        ({"lr": 1.0}, ("lr",), "unknown field; the spec has it as warm_start.optimizer.lr and optimizer.lr"),
        ({"limits": {"iterations": 1}}, ("limits", "iterations"), "unknown field; the spec has it as iterations"),
    ],
)
def test_a_field_in_the_wrong_place_is_told_the_right_one(
    changes: dict[str, Any], loc: tuple[str, ...], message: str
) -> None:
    assert told(changes) == [(loc, message)]


@pytest.mark.parametrize(
    "changes",
    [
        {"iterationz": 3},
        {"type": "all"},
        {"batch": {"type": "all", "global_batch_size": 3}},
        {"rollout": run_spec().model_dump(mode="json")["rollout"] | {"type": "x"}},
    ],
    ids=["no place", "too many places", "of another type of the block", "too many places for a block"],
)
def test_without_one_clear_place_none_is_proposed(changes: dict[str, Any]) -> None:
    ((_, message),) = told(changes)
    assert message == "Extra inputs are not permitted"


def test_the_other_errors_stay_as_they_are_and_a_spec_within_a_request_is_led_too() -> None:
    spec = run_spec().model_dump(mode="json") | {"max_restarts": 0, "iterations": "many", "seed": -1, "batch": {}}
    with pytest.raises(ValidationError) as refused:
        PlanRequest.model_validate({"spec": spec})
    errors = {error["loc"]: (error["type"], error["msg"]) for error in refused.value.errors()}
    assert errors == {
        ("spec", "max_restarts"): ("misplaced_field", LED),
        ("spec", "iterations"): ("int_type", "Input should be a valid integer"),
        ("spec", "seed"): ("greater_than_equal", "Input should be greater than or equal to 0"),
        ("spec", "batch"): ("union_tag_not_found", "Unable to extract tag using discriminator 'type'"),
    }


def test_a_disagreement_of_fields_keeps_its_cause_beside_a_misplaced_one() -> None:
    spec = run_spec().model_dump(mode="json") | {"max_restarts": 0, "parallelism": {"dp": 3, "num_ranks": 4}}
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(spec)
    causes = {error["loc"]: error.get("ctx", {}).get("error") for error in refused.value.errors()}
    assert isinstance(causes[("parallelism",)], FieldError)
    assert causes.keys() == {("parallelism",), ("max_restarts",)}
