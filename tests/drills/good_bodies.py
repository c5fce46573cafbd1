"""For each operation with a body, one that the server takes; the fuzzer bends them."""

from __future__ import annotations

from typing import Any

from orchestrator.contracts.messages import EventMessage, StateReport
from tests.server.factories import START, batch_json, spec_json, step_message

_AT = START.isoformat()


def good_bodies() -> dict[str, Any]:
    """By operationId."""
    event = EventMessage(key="k", kind="note", at=START, message="m", data={"n": [1, None]})
    return {
        "createRun": spec_json(),
        "changeRun": {"name": "other", "tags": {"a": "b"}, "priority": 1},
        "cancelRun": {"mode": "graceful"},
        "cloneRun": {"changes": {"optimizer": {"lr": 1e-4}, "batch": {"type": "all"}}},
        "retryRun": {"from_step": 0},
        "planRun": {"spec": spec_json(), "max_steps": 5},
        "planDraft": {"spec": spec_json()},
        "whatIf": {"dp": 2, "token_cap": 32, "balance": "cost"},
        "createToken": {"name": "t", "access": "read"},
        "recordSteps": batch_json(step_message(7), step_message(8)),
        "recordEvents": {"attempt": 1, "events": [event.model_dump(mode="json")]},
        "reportState": StateReport(attempt=1, outcome="failed", at=START, reason="r").model_dump(mode="json"),
        "reportHeartbeat": _heartbeat(),
        "recordRollouts": {"attempt": 1, "iterations": [_iteration()]},
        "recordLogs": {"attempt": 1, "lines": [_log_line(0), _log_line(1)]},
        "recordCheckpoints": {"attempt": 1, "checkpoints": [_checkpoint()]},
    }


def _heartbeat() -> dict[str, Any]:
    process = {"name": "driver", "cpu_cores": 0.5, "memory_bytes": 10}
    system = {"at": _AT, "num_cpus": 2, "cpu_frac": 0.5, "memory_bytes": 1, "memory_total_bytes": 2}
    return {
        "attempt": 1,
        "at": _AT,
        "activity": "generating",
        "num_steps": 3,
        "total_steps": 80,
        "system": system | {"processes": [process]},
    }


def _iteration() -> dict[str, Any]:
    rollout = {
        "rollout_id": "r7.0",
        "fate": "trained",
        "step": 7,
        "text": "ab",
        "num_tokens": 2,
        "truncated": False,
        "reward": 1.0,
        "advantage": 0.5,
        "first_policy_version": 7,
        "last_policy_version": 7,
        "pieces": ["a", "b"],
        "log_probs": [-0.1, -0.2],
    }
    group = {"group_id": "g7.0", "task": "spell", "prompt": "p", "num_prompt_tokens": 3, "rollouts": [rollout]}
    return {
        "iteration": 7,
        "started_at": _AT,
        "ended_at": _AT,
        "first_step": 7,
        "num_steps": 1,
        "num_refills": 0,
        "num_carried_in": 0,
        "num_generated": 2,
        "filtered": {"zero_variance": 1},
        "dropped": {},
        "num_trained": 1,
        "num_carried_out": 0,
        "num_groups": 1,
        "groups": [group],
    }


def _log_line(number: int) -> dict[str, Any]:
    return {"source": "driver", "number": number, "at": _AT, "level": "info", "text": "line"}


def _checkpoint() -> dict[str, Any]:
    return {
        "step": 3,
        "iteration": 3,
        "phase": "rl",
        "policy_version": 3,
        "at": _AT,
        "directory": "checkpoints/3",
        "num_bytes": 5,
        "write_s": 0.5,
    }
