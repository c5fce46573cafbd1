"""What mirrors need on the driver's machine: looked at when a run is submitted, without importing any of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from orchestrator.contracts.tracking_spec import MlflowTracking, TrackingSpec, WandbMode, WandbTracking

_PACKAGES = {"wandb": "wandb", "tensorboard": "tensorboard", "mlflow": "mlflow-skinny"}
"""Module → what pip calls it."""


def tracking_problems(tracking: Sequence[TrackingSpec]) -> list[tuple[str, str]]:
    """What is missing, as (field, message)."""
    problems = []
    for i, spec in enumerate(tracking):
        if find_spec(spec.type) is None:
            problems.append(
                (
                    f"tracking.{i}.type",
                    f"{spec.type} is not installed where the server runs; `pip install {_PACKAGES[spec.type]}`",
                )
            )
        problems += [(f"tracking.{i}.{field}", message) for field, message in _key_problems(spec)]
    return problems


def _key_problems(spec: TrackingSpec) -> list[tuple[str, str]]:
    match spec:
        case WandbTracking(mode=WandbMode.ONLINE, api_key_env=name) if name not in os.environ:
            return [("api_key_env", f"{name} is not set where the server runs; set it, or take mode: offline")]
        case MlflowTracking(token_env=str(name)) if name not in os.environ:
            return [("token_env", f"{name} is not set where the server runs")]
    return []
