"""Builders of whole runs, and of what their parts hand to each other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage, Phase, StateReport, StepMessage
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from orchestrator.step_message import TrainedStep, step_message
from orchestrator.train_items import TrainItem, scoring_samples, supervised_item
from tests.orchestrator.factories import COST_MODEL, step_geometry
from tests.orchestrator.fakes import FakeSource, FakeTrainer, encode_answer
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.optimizer_spec import LrUnit

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


def checkpoint(step: int = 20, **changes: Any) -> CheckpointMessage:
    fields: dict[str, Any] = {
        "step": step,
        "iteration": 2,
        "phase": Phase.RL,
        "policy_version": step,
        "at": AT,
        "directory": f"/run/checkpoints/step-{step}",
        "num_bytes": 1000,
        "write_s": 0.5,
    }
    return CheckpointMessage.model_validate(fields | changes)


def supervised_items(count: int) -> list[TrainItem]:
    return [supervised_item(prompt, encode_answer("5"), policy_version=0) for prompt in FakeSource().take(count)]


def trained_step(step: int = 0, *, num_samples: int = 4, dp_size: int = 2) -> TrainedStep:
    items = supervised_items(num_samples)
    shapes = [item.shape for item in items]
    geometry = step_geometry(dp_size=dp_size, token_cap=8)
    plan = build_dp_schedule(
        shapes,
        [range(num_samples)],
        geometry=geometry,
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.TOKEN_MEAN,
    )
    [record] = FakeTrainer().train(samples=scoring_samples(items), schedule=plan)
    schedule = plan.step(0)
    lengths = [shape.num_tokens for shape in shapes]
    return TrainedStep(
        step=step,
        phase=Phase.WARM_START,
        iteration=step,
        policy_version=step,
        items=tuple(items),
        schedule=schedule,
        figures=step_figures(schedule, lengths=lengths, geometry=geometry, cost_model=COST_MODEL),
        record=record,
        lr_unit=LrUnit.SAMPLES,
        zero_variance=None,
        geometry=geometry,
    )


def small_step(step: int) -> StepMessage:
    return step_message(trained_step(step), started_at=AT, seconds=0.5, metrics={})
