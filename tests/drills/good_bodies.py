"""For each operation with a body, those that the server takes; the fuzzer bends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.contracts.messages import EventMessage, StateReport
from tests.server.factories import START, batch_json, spec_json, step_message
from tests.server.record_factories import (
    checkpoint_message,
    iteration_message,
    log_line,
    system_sample,
    timeline_columns,
)
from trainer.contracts.text_model import TextModel


def good_bodies() -> Mapping[str, Sequence[Any]]:
    """By operationId."""
    event = EventMessage(key="k", kind="note", at=START, message="m", data={"n": [1, None]})
    external = {"kind": "external", "name": "other", "config": {"api_key": "secret", "lr": 1e-3}, "tags": {"a": "b"}}
    adaptive = spec_json(batch={"type": "adaptive", "min_size": 2, "max_size": 8, "mode": "advise"})
    return {
        "createRun": [spec_json(), external, adaptive],
        "changeRun": [{"name": "other", "tags": {"a": "b"}, "priority": 1}],
        "cancelRun": [{"mode": "graceful"}],
        "cloneRun": [{"changes": {"optimizer": {"lr": 1e-4}, "batch": {"type": "all"}}}],
        "retryRun": [{"from_step": 0}],
        "planRun": [{"spec": spec_json(), "max_steps": 5}],
        "planDraft": [{"spec": spec_json()}],
        "whatIf": [{"dp": 2, "token_cap": 32, "balance": "cost"}, {"pp": 2, "vpp": 2, "micro_batch_size": 1}],
        "createToken": [{"name": "t", "access": "read"}],
        "recordSteps": [
            batch_json(step_message(7), step_message(8)),
            batch_json(step_message(9, timeline=timeline_columns())),
        ],
        "recordEvents": [{"attempt": 1, "events": [_json(event)]}],
        "reportState": [_json(StateReport(attempt=1, outcome="failed", at=START, reason="r"))],
        "reportHeartbeat": [_heartbeat()],
        "recordRollouts": [{"attempt": 1, "iterations": [_json(iteration_message(7))]}],
        "recordLogs": [{"attempt": 1, "lines": [_json(log_line(7)), _json(log_line(8))]}],
        "recordCheckpoints": [{"attempt": 1, "checkpoints": [_json(checkpoint_message(7))]}],
    }


def _heartbeat() -> dict[str, Any]:
    return {
        "attempt": 1,
        "at": START.isoformat(),
        "activity": "generating",
        "num_steps": 3,
        "total_steps": 80,
        "system": _json(system_sample()),
    }


def _json(message: TextModel) -> dict[str, Any]:
    return message.model_dump(mode="json")
