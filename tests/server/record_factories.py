"""Builders of rollouts, log lines, checkpoints, timelines and samples of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.log_messages import LogLine
from orchestrator.contracts.rollout_messages import GroupMessage, IterationMessage, RolloutMessage
from orchestrator.contracts.system_message import SystemSample
from orchestrator.contracts.timeline_message import TimelineColumns
from tests.server.factories import START
from tests.server.live_server import LaunchedRun, LiveServer
from trainer.contracts.text_model import TextModel

NAMES = {"rollouts": "iterations", "logs": "lines", "checkpoints": "checkpoints"}
"""Of each kind of batch: the field that holds its records."""


def post(
    server: LiveServer, run: LaunchedRun, kind: str, *messages: TextModel, attempt: int | None = None
) -> httpx.Response:
    """Post a batch with the attempt's own token."""
    body = {
        "attempt": run.attempt if attempt is None else attempt,
        NAMES[kind]: [message.model_dump(mode="json") for message in messages],
    }
    return server.http.post(f"/api/v1/runs/{run.id}/{kind}:batch", json=body, headers=run.headers)


def rollout_message(rollout_id: str, **changes: Any) -> RolloutMessage:
    """A rollout of three tokens that step 0 trained."""
    fields = {
        "rollout_id": rollout_id,
        "fate": "trained",
        "step": 0,
        "text": f"answer of {rollout_id}",
        "num_tokens": 3,
        "truncated": False,
        "reward": 1.0,
        "advantage": 0.5,
        "first_policy_version": 0,
        "last_policy_version": 0,
        "pieces": ("an", "sw", "er"),
        "log_probs": (-0.5, -0.25, -0.1),
        "trainer_log_probs": (-0.5, -0.25, -0.125),
    }
    return RolloutMessage.model_validate(fields | changes)


def group_message(group_id: str, rollouts: Sequence[RolloutMessage], **changes: Any) -> GroupMessage:
    fields = {
        "group_id": group_id,
        "task": "spell_backward",
        "prompt": f"prompt of {group_id}",
        "answer": "right",
        "num_prompt_tokens": 5,
        "rollouts": tuple(rollouts),
    }
    return GroupMessage.model_validate(fields | changes)


def iteration_message(iteration: int, groups: Sequence[GroupMessage] | None = None, **changes: Any) -> IterationMessage:
    """An iteration of one step whose rollouts are all recorded; by default two groups of two that it trained.

    The books are counted from the groups, as far as `changes` do not tell them.
    """
    if groups is None:
        groups = [
            group_message(
                f"g{iteration}.{i}",
                [rollout_message(f"r{iteration}.{i}.{k}", step=iteration, reward=float(k)) for k in range(2)],
            )
            for i in range(2)
        ]
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    started_at = START + timedelta(seconds=10 * iteration)
    fields: dict[str, Any] = {
        "iteration": iteration,
        "started_at": started_at,
        "ended_at": started_at + timedelta(seconds=9),
        "first_step": iteration,
        "num_steps": 1,
        "num_refills": 0,
        "num_carried_in": 0,
        "num_generated": len(rollouts),
        "filtered": _by_reason(rollouts, "filtered"),
        "dropped": _by_reason(rollouts, "dropped"),
        "num_trained": sum(rollout.fate == "trained" for rollout in rollouts),
        "num_carried_out": sum(rollout.fate == "carried" for rollout in rollouts),
        "num_groups": len(groups),
        "groups": tuple(groups),
    }
    return IterationMessage.model_validate(fields | changes)


def _by_reason(rollouts: Sequence[RolloutMessage], fate: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for rollout in rollouts:
        if rollout.fate == fate and rollout.reason is not None:
            found[rollout.reason] = found.get(rollout.reason, 0) + 1
    return found


def log_line(number: int, text: str = "hello", **changes: Any) -> LogLine:
    fields = {"source": "driver", "number": number, "at": START, "level": "info", "text": text}
    return LogLine.model_validate(fields | changes)


def checkpoint_message(step: int, **changes: Any) -> CheckpointMessage:
    fields = {
        "step": step,
        "iteration": step,
        "phase": "rl",
        "policy_version": step,
        "at": START + timedelta(seconds=step),
        "directory": f"checkpoints/{step}",
        "num_bytes": 1000,
        "write_s": 0.5,
    }
    return CheckpointMessage.model_validate(fields | changes)


def timeline_columns(num_spans: int = 3) -> TimelineColumns:
    """Spans of one rank, a tenth of a second each."""
    return TimelineColumns.model_validate(
        {
            "actor": ("rank 0",) * num_spans,
            "activity": ("forward_backward",) * num_spans,
            "start_s": tuple(0.1 * i for i in range(num_spans)),
            "end_s": tuple(0.1 * (i + 1) for i in range(num_spans)),
        }
    )


def system_sample(second: float = 0.0, **changes: Any) -> SystemSample:
    fields = {
        "at": START + timedelta(seconds=second),
        "num_cpus": 2,
        "cpu_frac": 0.5,
        "memory_bytes": 2**30,
        "memory_total_bytes": 2**34,
        "processes": ({"name": "driver", "cpu_cores": 0.5, "memory_bytes": 2**20},),
        "generated_tokens_per_s": 100.0,
    }
    return SystemSample.model_validate(fields | changes)
