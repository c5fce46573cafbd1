from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from orchestrator.contracts.run_spec import RunSpec
from server.advisories.facts import IterationRewards, RunFacts, WaitedRollout
from server.advisories.rules import advisories_of
from server.advisories.schemas import Advisory
from server.steps.schemas import StepRow
from tests.server.factories import START, metric, step_message
from tests.server.live_server import LiveServer
from tests.server.record_factories import group_message, iteration_message, post, rollout_message
from tests.server.test_ledger import books


def row(step: int, **changes: Any) -> StepRow:
    """A step of which nothing is odd."""
    message = step_message(step, measured_idle_frac=0.1, idle_bound_frac=0.1, predicted_idle_frac=0.1)
    fields = message.model_dump(exclude={"schedule", "timeline"})
    place = {"attempt": 1, "superseded": False, "samples_total": 0, "tokens_total": 0, "has_schedule": True}
    return StepRow.model_validate(fields | place | changes)


def facts(steps: Sequence[StepRow], **changes: Any) -> RunFacts:
    known = RunFacts(
        is_running=True,
        now=START + timedelta(seconds=len(steps)),
        activity="training",
        dp=2,
        steps=steps,
        books=(),
        rewards=(),
        oldest_trained=None,
        truncated_rollout=None,
        unscorable_rollout=None,
    )
    return replace(known, **changes)


def metrics(name: str, value: float) -> dict[str, Any]:
    return {"metrics": {name: metric(value)}}


REWARDS = IterationRewards(iteration=3, num_scored=16, low=0.0, high=0.0, rollout_id="r")
ODD: dict[str, RunFacts] = {
    "non_finite": facts([row(0), row(1, status="skipped:non_finite")]),
    "explosion": facts(
        [*(row(i, **metrics("train/loss", -0.02)) for i in range(3)), row(3, **metrics("train/loss", 8e5))]
    ),
    "stall": facts([row(i) for i in range(5)], now=START + timedelta(hours=1)),
    "slow_step": facts([*(row(i) for i in range(5)), row(5, ended_at=START + timedelta(seconds=65))]),
    "no_signal": facts([row(0, **metrics("reward/zero_variance_frac", 0.9)), row(1)]),
    "identical_rewards": facts([row(0)], rewards=(REWARDS,)),
    "unscorable": facts([row(0, **metrics("rollout/unscorable_frac", 0.3))]),
    "truncation": facts([row(0, **metrics("rollout/truncated_frac", 0.5))]),
    "log_prob_drift": facts([row(0, **metrics("train/log_prob_diff", 0.1))]),
    "staleness": facts([row(0)], oldest_trained=WaitedRollout(rollout_id="r", step=0, age=3)),
    "backlog": facts([row(0)], books=[books(i, num_carried_out=i) for i in range(5)]),
    "idle": facts([row(0), row(1, measured_idle_frac=0.4)]),
    "over_cap": facts([row(0), row(1, num_over_cap=1)]),
    "dummies": facts([row(0, num_microbatches=4, num_dummies=3)]),
    "padding": facts([row(0, padding_frac=0.3)]),
}
"""For each kind a run in which it is the only odd thing."""


@pytest.mark.parametrize("kind", ODD)
def test_each_oddity_is_named_alone_with_its_evidence(kind: str) -> None:
    [found] = advisories_of(ODD[kind])
    assert found.kind == kind
    assert found.value > found.threshold or kind == "staleness"
    assert found.target.step is not None or found.target.rollout_id is not None
    assert found.evidence.endswith(".")


@pytest.mark.parametrize("kind", ODD)
def test_the_advice_names_fields_that_exist(kind: str) -> None:
    [found] = advisories_of(ODD[kind])
    for path in re.findall(r"\b(?:algorithm|batch|data|optimizer|parallelism|rollout|schedule)\.\w+", found.advice):
        block, field = path.split(".")
        assert field in _fields(getattr(_spec_types(), block)), path


def _spec_types() -> Any:
    class Blocks:
        pass

    for name, field in RunSpec.model_fields.items():
        setattr(Blocks, name, field.annotation)
    return Blocks


def _fields(annotation: Any) -> set[str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return set(annotation.model_fields)
    return set().union(*(_fields(part) for part in getattr(annotation, "__args__", ())))


def test_an_ordinary_run_has_no_advisory() -> None:
    assert advisories_of(facts([row(i) for i in range(20)])) == ()
    assert advisories_of(facts([])) == ()


def test_an_explosion_is_told_where_it_began() -> None:
    norms = [1.5, 1.2, 0.9, 300.0, 4675.0, 2.0]
    [found] = advisories_of(facts([row(i, **metrics("train/grad_norm", norm)) for i, norm in enumerate(norms)]))
    assert (found.kind, found.target.step, found.value) == ("explosion", 3, 4675.0)
    assert found.evidence == "Since step 3: gradient norm up to 4,675 at step 4, usually 1.2."


def test_many_updates_of_one_iteration_make_its_last_steps_stale() -> None:
    [found] = advisories_of(facts([row(i, iteration=0) for i in range(12)]))
    assert (found.kind, found.target.step, found.value) == ("staleness", 11, 11.0)


def test_steps_of_a_writer_that_tells_little_have_no_advisory() -> None:
    unknown = {
        name: None
        for name, field in StepRow.model_fields.items()
        if not field.is_required() and name not in ("metrics", "batch_decision")
    }
    assert advisories_of(facts([row(i, **unknown) for i in range(6)], dp=None)) == ()


def test_the_gravest_comes_first() -> None:
    found = advisories_of(facts([row(0, padding_frac=0.5, num_over_cap=1), row(1, status="skipped:non_finite")]))
    assert [advisory.severity for advisory in found] == ["critical", "warning", "info"]


@pytest.mark.stack
def test_a_run_tells_what_is_odd_and_where_to_look(shared_server: LiveServer) -> None:
    run = shared_server.launch()
    assert shared_server.get(f"/runs/{run.id}/advisories") == {
        "items": [],
        "first_step": None,
        "last_step": None,
        "num_steps": 0,
    }
    cut = [rollout_message(f"r{i}", reward=0.0, truncated=True) for i in range(8)]
    post(shared_server, run, "rollouts", iteration_message(0, [group_message("g", cut)]))
    shared_server.record(
        run, *(step_message(i, metrics=metrics("rollout/truncated_frac", 1.0)["metrics"]) for i in (0, 1))
    )
    report = shared_server.get(f"/runs/{run.id}/advisories")
    found = {item["kind"]: Advisory.model_validate(item) for item in report["items"]}
    assert (report["first_step"], report["last_step"], report["num_steps"]) == (0, 1, 2)
    assert found["identical_rewards"].target.iteration == 0
    assert found["truncation"].target.rollout_id in {rollout.rollout_id for rollout in cut}
    assert shared_server.get(f"/runs/{run.id}/advisories", steps=1)["first_step"] == 1
