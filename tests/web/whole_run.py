"""A run of which everything is recorded: steps, books, rollouts, logs, checkpoints, times, the machine, events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.contracts.messages import BatchDecision, StepMessage
from orchestrator.contracts.rollout_messages import IterationMessage, RolloutMessage
from orchestrator.contracts.system_message import SystemSample
from orchestrator.contracts.timeline_message import TimelineColumns
from tests.server.factories import idling, metric
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import (
    checkpoint_message,
    group_message,
    iteration_message,
    log_line,
    post,
    rollout_message,
    system_sample,
)
from tests.web.recorded_run import NUM_STEPS, beat, recorded_step, step_lengths, tell
from trainer.contracts.text_model import TextModel

NUM_ITERATIONS = 40
_TAGS = {"task": "spelling", "kind": "demo"}


def record_whole_run(server: LiveServer, *, text: str | None = None, name: str = "spell-backward-grpo") -> LaunchedRun:
    """Record a run that still goes on. `text` stands in every field that takes text from outside."""
    run = server.launch(name=name, tags=_TAGS if text is None else {text[:100]: text[:200]})
    for first in range(0, NUM_STEPS, 20):
        steps = [_with_timeline(recorded_step(step), text) for step in range(first, first + 20)]
        assert server.record(run, *steps).status_code == 200
    for iteration in range(NUM_ITERATIONS):
        _post(server, run, "rollouts", _iteration(iteration, text))
    lines = [log_line(k, text or _line(k), source=_source(k, text), level=_level(k)) for k in range(120)]
    _post(server, run, "logs", *lines)
    kept = [checkpoint_message(step, directory=(text or f"/runs/{run.id}/step-{step}")[:4000]) for step in (80, 100)]
    _post(server, run, "checkpoints", checkpoint_message(60, removed=True), *kept)
    for second in range(0, 300, 10):
        sample = _sample(second, text).model_dump(mode="json")
        tell(
            server,
            run,
            "heartbeat",
            activity=(text or "trains")[:200],
            num_steps=NUM_STEPS,
            total_steps=160,
            system=sample,
        )
    event = {
        "key": "one",
        "kind": (text or "note")[:100],
        "at": datetime.now(UTC).isoformat(),
        "message": text or "hello",
        "data": {"told": text or "by the driver"},
    }
    answer = server.http.post(
        f"/api/v1/runs/{run.id}/events:batch",
        json={"attempt": run.attempt, "events": [event]},
        headers=run.headers,
    )
    assert answer.status_code == 200, answer.text
    beat(server, run, NUM_STEPS)
    return run


def _post(server: LiveServer, run: LaunchedRun, kind: str, *messages: TextModel) -> None:
    answer = post(server, run, kind, *messages)
    assert answer.status_code == 200, answer.text


def _with_timeline(step: StepMessage, text: str | None) -> StepMessage:
    actors = ("driver", "engine 0", "rank 0", "rank 1") if text is None else ("driver", text[:100])
    spans = [
        (actor, activity, start + 0.03 * k, start + 0.03 * k + length)
        for k, actor in enumerate(actors)
        for activity, start, length in (
            (("generate", 0.0, 0.3),) if k == 1 else (("forward_backward", 0.4, 0.5), ("optimizer", 0.95, 0.05))
        )
    ]
    columns = list(zip(*spans, strict=True))
    timeline = TimelineColumns(actor=columns[0], activity=columns[1], start_s=columns[2], end_s=columns[3])
    foreign = {} if text is None else _foreign(step, text)
    # Ranks that wait for each other bring an advisory, which such a run must have too.
    told = step if text is None else idling(step, 0.2)
    return told.model_copy(update={"timeline": timeline, **_place_in_iteration(step.step), **foreign})


def _foreign(step: StepMessage, text: str) -> dict[str, Any]:
    """Fields of a step that hold texts from outside."""
    decision = {"mode": "control", "noise_scale": 1.0, "proposed_size": 8, "size_before": 8, "size_after": 9}
    return {
        "metrics": {**step.metrics, text[:200]: metric(1.0), f"reward/{text[:190]}": metric(0.5)},
        "batch_decision": BatchDecision.model_validate({**decision, "reason": text[:1000]}),
    }


def _place_in_iteration(step: int) -> dict[str, int]:
    """Three steps train an iteration; its first one tells of all its rollouts."""
    iteration, place = divmod(step, 3)
    trained, filtered = _num_trained(iteration), _num_filtered(iteration)
    told = (trained + filtered, filtered) if place == 0 else (0, 0)
    return {"iteration": iteration, "num_generated": told[0], "num_filtered": told[1]}


def _num_trained(iteration: int) -> int:
    return sum(len(step_lengths(3 * iteration + k)) for k in range(3))


def _num_filtered(iteration: int) -> int:
    return 16 + iteration % 5 * 8


def _iteration(number: int, text: str | None) -> IterationMessage:
    def rollout(group: int, k: int) -> RolloutMessage:
        fate = "filtered" if group == 3 else "trained"
        return rollout_message(
            f"{number}-{group}-{k}",
            fate=fate,
            reason=(text or "zero_variance")[:200] if fate == "filtered" else None,
            step=3 * number if fate == "trained" else None,
            reward=float(k % 2) if group != 3 else 1.0,
            advantage=(1.0 if k % 2 else -1.0) if fate == "trained" else None,
            **({"text": text, "pieces": (text[:200], "b", "c")} if text else {}),
        )

    told = {"prompt": text, "answer": text, "task": text[:200]} if text else {}
    groups = [
        group_message(f"{(text or '')[:100]}g{number}.{i}", [rollout(i, k) for k in range(4)], **told) for i in range(4)
    ]
    trained, filtered = _num_trained(number), _num_filtered(number)
    return iteration_message(
        number,
        groups,
        first_step=3 * number,
        num_steps=3,
        num_generated=trained + filtered,
        num_trained=trained,
        filtered={(text or "zero_variance")[:200]: filtered},
        num_groups=16,
    )


def _line(number: int) -> str:
    return f"step {number}: loss 0.0{number % 9}1, 34 samples, 812 tokens"


def _source(number: int, text: str | None) -> str:
    return text[:100] if text and number % 4 == 0 else ("driver", "rank 0", "rank 1", "engine 0")[number % 4]


def _level(number: int) -> str:
    return "error" if number % 40 == 17 else "warning" if number % 11 == 5 else "info"


def _sample(second: int, text: str | None) -> SystemSample:
    busy = 0.5 + 0.3 * ((second // 10) % 3) / 2
    processes = [
        {
            "name": (text or who)[:100] + (f" {k}" if text else ""),
            "cpu_cores": busy * (k + 1) / 3,
            "memory_bytes": (k + 1) * 2**28,
        }
        for k, who in enumerate(("driver", "rank 0", "rank 1", "engine 0"))
    ]
    sample = system_sample(float(second), cpu_frac=busy, processes=tuple(processes))
    return sample.model_copy(update={"at": datetime.now(UTC) - timedelta(seconds=300 - second)})
