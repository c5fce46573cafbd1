"""Builders of whole runs, and of what their parts hand to each other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orchestrator.contracts.messages import EventMessage, StateReport
from orchestrator.contracts.run_spec import RunSpec

AT = datetime(2026, 1, 1, tzinfo=UTC)


def run_spec(**changes: Any) -> RunSpec:
    """A small run; `changes` replace whole blocks."""
    blocks: dict[str, Any] = {
        "name": "small",
        "seed": 7,
        "iterations": 3,
        "model": {
            "type": "scratch",
            "num_layers": 2,
            "hidden_size": 32,
            "num_attention_heads": 4,
            "num_query_groups": 2,
            "ffn_hidden_size": 64,
        },
        "data": {
            "type": "reasoning_gym",
            "tasks": [{"name": "spell_backward", "config": {"min_word_len": 3, "max_word_len": 4}}],
            "rollout_batch_size": 4,
            "max_prompt_tokens": 64,
            "lower_case": True,
        },
        "rollout": {"group_size": 4, "max_new_tokens": 8},
        "reward": [{"type": "reasoning_gym"}],
        "warm_start": {
            "type": "sft",
            "max_steps": 6,
            "until_reward": 0.5,
            "eval_every": 2,
            "eval_prompts": 4,
            "batch": {"type": "fixed", "global_batch_size": 4},
        },
        "batch": {"type": "all"},
        "schedule": {"token_cap": 128},
        "optimizer": {"lr": 1e-3},
        "parallelism": {"dp": 2},
    }
    return RunSpec.model_validate(blocks | changes)


def event(key: str = "e0", **changes: Any) -> EventMessage:
    return EventMessage(**({"key": key, "kind": "note", "at": AT, "message": "something happened"} | changes))


def state_report(**changes: Any) -> StateReport:
    return StateReport(**({"attempt": 1, "outcome": "succeeded", "at": AT} | changes))
