import sys
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.tracking_spec import TrackingSpec
from orchestrator.mirrors.libraries import tracking_problems
from orchestrator.mirrors.step_values import mirrored_step
from orchestrator.preflight import preflight
from tests.orchestrator.mirrors.factories import a_message
from tests.server.factories import spec_json


def spec_of(**fields: Any) -> TrackingSpec:
    spec: TrackingSpec = TypeAdapter(TrackingSpec).validate_python(fields)
    return spec


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "wandb", "project": "p", "api_key": "secret"},
        {"type": "wandb", "project": "p", "api_key_env": "0123456789abcdef0123456789abcdef01234567"},
        {"type": "wandb", "project": "p", "base_url": "https://me:secret@wandb.example.org"},
        {"type": "mlflow", "uri": "https://me:secret@mlflow.example.org"},
        {"type": "mlflow", "uri": "https://mlflow.example.org?token=secret"},
        {"type": "mlflow", "uri": "postgresql://swell:secret@db/mlflow"},
        {"type": "comet", "project": "p"},
    ],
)
def test_no_key_stands_in_a_spec(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        spec_of(**fields)


def test_a_library_that_is_missing_is_told_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setattr("orchestrator.mirrors.libraries.find_spec", lambda name: None if name == "mlflow" else object())
    spec = RunSpec.model_validate(spec_json(tracking=[{"type": "tensorboard"}, {"type": "mlflow", "uri": "file:///m"}]))
    [(field, message)] = preflight(spec)
    assert field == "tracking.1.type"
    assert "`pip install mlflow-skinny`" in message


def test_a_key_that_is_not_set_is_told_and_offline_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    online, offline = ({"type": "wandb", "project": "p", "mode": mode} for mode in ("online", "offline"))
    mlflow = {"type": "mlflow", "uri": "https://mlflow.example.org", "token_env": "NO_SUCH_TOKEN"}
    found = tracking_problems([spec_of(**online), spec_of(**offline), spec_of(**mlflow)])
    assert [field for field, _ in found] == ["tracking.0.api_key_env", "tracking.2.token_env"]
    monkeypatch.setenv("WANDB_API_KEY", "k")
    assert not tracking_problems([spec_of(**online)])


def test_trackers_get_the_weighted_values_as_they_are_and_the_batch_size() -> None:
    step = mirrored_step(a_message(3, train__loss=(0.25, 1000.0), bad=("NaN", 2.0), none=(None, 0.0)))
    assert step.step == 3
    assert step.values["train/loss"] == 0.25
    assert step.values["bad"] != step.values["bad"]
    assert "none" not in step.values
    assert step.values["global_batch_size"] > 0
    assert {"num_tokens", "num_prompts", "lr"} <= step.values.keys()
