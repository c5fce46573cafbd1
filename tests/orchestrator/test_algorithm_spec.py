from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.contracts.algorithm_spec import AlgorithmSpec
from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    IcePopSpec,
    KlEstimator,
    KlTermSpec,
    LossSpec,
    PolicyLossSpec,
    PythonLossSpec,
    TisSpec,
)
from trainer.contracts.text_model import FieldError


def algorithm(**fields: Any) -> AlgorithmSpec:
    return AlgorithmSpec.model_validate(fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ClippedLossSpec(clip_low=0.2, clip_high=0.28, temperature=0.7)),
        ({"clip_low": 0.1, "dual_clip": 3}, ClippedLossSpec(clip_low=0.1, dual_clip=3.0, temperature=0.7)),
        ({"loss": "gspo"}, GspoLossSpec(clip_low=3e-4, clip_high=4e-4, temperature=0.7)),
        ({"loss": "gspo", "sequence_clip_low": 0.01}, GspoLossSpec(clip_low=0.01, temperature=0.7)),
        ({"loss": "cispo", "clip_high": 2.0}, CispoLossSpec(clip_low=None, clip_high=2.0, temperature=0.7)),
        (
            {"kl": {"type": "loss", "coef": 0.1}, "entropy_coef": 0.01},
            ClippedLossSpec(kl=KlTermSpec(estimator=KlEstimator.K3, coef=0.1), entropy_coef=0.01, temperature=0.7),
        ),
        ({"kl": {"type": "reward", "coef": 0.1}}, ClippedLossSpec(temperature=0.7)),
        (
            {"old_log_probs": "trainer", "correction": {"type": "tis", "cap": 3}},
            ClippedLossSpec(correction=TisSpec(type="tis", cap=3.0), temperature=0.7),
        ),
        (
            {"old_log_probs": "trainer", "correction": {"type": "icepop"}},
            ClippedLossSpec(correction=IcePopSpec(type="icepop", low=0.5, high=5.0), temperature=0.7),
        ),
    ],
)
def test_the_trainer_is_told_the_loss_that_the_fields_say(fields: dict[str, Any], expected: PolicyLossSpec) -> None:
    assert algorithm(**fields).policy_loss(temperature=0.7) == expected
    assert TypeAdapter(LossSpec).validate_json(expected.model_dump_json()) == expected


def test_a_users_functions_are_only_named() -> None:
    spec = algorithm(
        loss={"python": "no_such.module:my_loss", "arguments": {"beta": 2}}, advantage={"python": "other:estimate"}
    )
    assert AlgorithmSpec.model_validate_json(spec.model_dump_json()) == spec
    told = spec.policy_loss(temperature=1.0)
    assert isinstance(told, PythonLossSpec)
    assert told.function.arguments == {"beta": 2}


@pytest.mark.parametrize("name", ["module", "module:", "os.path", "a b:c", "a:b.c", ":f", "../x:f"])
def test_a_function_is_named_by_module_and_name(name: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        algorithm(loss={"python": name})


def refused(**fields: Any) -> tuple[str, ...]:
    """The fields that the one cross-field error names, each of which its message names too."""
    with pytest.raises(ValidationError) as caught:
        algorithm(**fields)
    (error,) = caught.value.errors()
    cause = error["ctx"]["error"]
    assert isinstance(cause, FieldError)
    assert all(field in str(cause) for field in cause.fields)
    return cause.fields


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"loss": "gspo", "clip_low": 0.2}, "clip_low"),
        ({"loss": "gspo", "clip_high": 0.28}, "clip_high"),
        ({"loss": "gspo", "dual_clip": 3}, "dual_clip"),
        ({"loss": "cispo", "dual_clip": 3}, "dual_clip"),
        ({"loss": "clipped", "sequence_clip_low": 0.1}, "sequence_clip_low"),
        ({"loss": "cispo", "sequence_clip_high": 0.1}, "sequence_clip_high"),
        ({"loss": {"python": "a:b"}, "clip_low": 0.1}, "clip_low"),
    ],
)
def test_clips_that_the_loss_does_not_read_are_refused(fields: dict[str, Any], name: str) -> None:
    assert refused(**fields) == (name, "loss")


@pytest.mark.parametrize("correction", [{"type": "tis"}, {"type": "icepop"}])
def test_a_correction_needs_the_trainers_log_probs(correction: dict[str, Any]) -> None:
    assert refused(correction=correction) == ("correction", "old_log_probs")
    algorithm(correction=correction, old_log_probs="trainer")


def test_an_empty_band_is_refused() -> None:
    assert refused(old_log_probs="trainer", correction={"type": "icepop", "low": 2, "high": 1}) == ("low", "high")


@pytest.mark.parametrize(
    "fields",
    [
        {"kl": {"type": "loss"}},
        {"kl": {"type": "reward", "coef": 0}},
        {"kl": {"type": "none", "coef": 0.1}},
        {"dual_clip": 1.0},
        {"entropy_coef": -0.1},
        {"loss": "ppo"},
        {"advantage": "gae"},
    ],
)
def test_settings_that_mean_nothing_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        algorithm(**fields)


@pytest.mark.parametrize(("value", "message"), [("gae", "Input should be 'grpo', "), ({"pyton": "a:b"}, "python")])
def test_an_advantage_that_is_unknown_is_told_in_one_sentence(value: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        algorithm(advantage=value)
    assert message in str(caught.value.errors()[0])
    assert "PythonFunction" not in str([error["msg"] for error in caught.value.errors()])


def test_only_a_distance_needs_a_reference() -> None:
    assert not algorithm().needs_reference
    assert algorithm(kl={"type": "loss", "coef": 0.1}).needs_reference
    assert algorithm(kl={"type": "reward", "coef": 0.1}).needs_reference
