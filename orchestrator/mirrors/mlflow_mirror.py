"""Steps in MLflow. The one file that knows its library, which is imported when a run asks for it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.contracts.tracking_spec import MlflowTracking
from orchestrator.mirrors.mirror import MirroredRun, MirroredStep, Outcome

_RUN_TAG = "swell.run_id"
_MAX_PARAMS = 100
"""Of one request; MLflow refuses more."""
_MAX_PARAM_CHARS = 500
_STATUS = {"succeeded": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}


class MlflowMirror:
    """A run there for each run here, found again by its tag; a later attempt goes on with it."""

    def __init__(self, spec: MlflowTracking) -> None:
        self._spec = spec
        self._client: Any = None
        self._run_id = ""

    def open(self, run: MirroredRun) -> None:
        self._prepare_environment()
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=self._spec.uri, registry_uri=self._spec.uri)
        experiment = self._experiment()
        known = self._client.search_runs([experiment], filter_string=f"tags.`{_RUN_TAG}` = '{run.id}'", max_results=1)
        if known:
            self._run_id = known[0].info.run_id
            self._client.update_run(self._run_id, status="RUNNING")
            return
        made = self._client.create_run(experiment, run_name=run.name, tags={**run.tags, _RUN_TAG: run.id})
        self._run_id = made.info.run_id
        self._log_params(run.config)

    def step(self, step: MirroredStep) -> None:
        from mlflow.entities import Metric

        at_ms = int(step.at.timestamp() * 1000)
        metrics = [Metric(name, value, at_ms, step.step) for name, value in step.values.items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def close(self, outcome: Outcome) -> None:
        if self._run_id:
            self._client.set_terminated(self._run_id, status=_STATUS[outcome])

    def _prepare_environment(self) -> None:
        """What MLflow takes from nowhere else. The driver's process has no other use for these names."""
        if self._spec.token_env is not None:
            os.environ["MLFLOW_TRACKING_TOKEN"] = os.environ[self._spec.token_env]
        # It would tell its makers of each use.
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        if self._spec.uri.startswith("file:"):
            # Files are what the spec asks for; without this MLflow insists on a database.
            os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

    def _experiment(self) -> str:
        known = self._client.get_experiment_by_name(self._spec.experiment)
        return str(known.experiment_id if known else self._client.create_experiment(self._spec.experiment))

    def _log_params(self, config: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        params = [Param(name, value[:_MAX_PARAM_CHARS]) for name, value in flat_config(config)]
        for k in range(0, len(params), _MAX_PARAMS):
            self._client.log_batch(self._run_id, params=params[k : k + _MAX_PARAMS])


def flat_config(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each value of a nested config under its dotted path.

    >>> list(flat_config({"a": {"b": 1, "c": [2]}, "d": "x"}))
    [('a.b', '1'), ('a.c', '[2]'), ('d', 'x')]
    """
    for name, value in config.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from flat_config(value, f"{path}.")
        else:
            yield path, value if isinstance(value, str) else json.dumps(value)
