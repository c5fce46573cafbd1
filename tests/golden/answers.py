"""Records the golden run, asks for it, and reckons from the recorded numbers what a page of it has to say."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from orchestrator.contracts.messages import StepMessage
from orchestrator.geometry import StepGeometry
from orchestrator.step_figures import measured_makespan_s
from tests.server.factories import idling, metric, padded, step_message
from tests.server.live_server import LaunchedRun, LiveServer

PATH = Path(__file__).with_name("answers.json")
LOSS = "train/loss"
NUM_STEPS, AGAIN_FROM, ODD_STEP = 40, 28, 17
MAX_POINTS = 24
KEEP = 0.8
"""Of the average that a chart is smoothed by, per step."""
_LENGTHS = (5, 9, 7, 12, 30, 3, 40, 22)
_PADDING = ((3, 0), (1, 2))
"""Positions without a token, [dp_rank][micro-batch]."""


def stored() -> Any:
    return json.loads(PATH.read_text())


def answers(server: LiveServer) -> dict[str, Any]:
    """Everything, as JSON has it."""
    run = server.launch(name="golden")
    for step in range(AGAIN_FROM + 4):
        _record(server, run, _step(step, attempt=1))
    again = server.next_attempt(run)
    for step in range(AGAIN_FROM, NUM_STEPS):
        _record(server, again, _step(step, attempt=2))
    found = {"history": _history(server, run), "smoothing": _smoothing(server, run), "step": _one_step(server, run)}
    return dict(json.loads(json.dumps(found)))


def _record(server: LiveServer, run: LaunchedRun, message: StepMessage) -> None:
    answer = server.record(run, message)
    assert answer.status_code == 200, answer.text


def _loss(step: int, attempt: int) -> float | str:
    if step == 7:
        return "NaN"
    return 9.5 if step == 23 else round(2 / (1 + step / 4) + 0.01 * attempt, 6)


def _step(step: int, *, attempt: int) -> StepMessage:
    told = step_message(step, lengths=_LENGTHS, metrics={LOSS: metric(_loss(step, attempt))})
    return padded(idling(told, 0.2), *_PADDING) if step == ODD_STEP else told


def _history(server: LiveServer, run: LaunchedRun) -> dict[str, Any]:
    """In buckets, with what is superseded; and the same from the recorded values."""
    asked = {"run": run.id, "name": LOSS, "agg": "minmax", "superseded": True, "max_points": MAX_POINTS}
    series = server.get("/metrics/query", **asked)["series"]
    current = [_loss(step, 1 if step < AGAIN_FROM else 2) for step in range(NUM_STEPS)]
    finite = [value for value in current if isinstance(value, float)]
    return {
        "series": [{**one, "run": "golden"} for one in series],
        "expected": {
            "least": min(finite),
            "greatest": max(finite),
            "total": NUM_STEPS,
            "last_step": NUM_STEPS - 1,
            "non_finite": [[step, value] for step, value in enumerate(current) if isinstance(value, str)],
            "superseded": [{"attempt": 1, "first_step": AGAIN_FROM}],
        },
    }


def _smoothing(server: LiveServer, run: LaunchedRun) -> dict[str, Any]:
    """Every point, and its average that keeps `KEEP` of itself for each step that passed."""
    asked = {"run": run.id, "name": LOSS, "agg": "none", "superseded": False}
    series = server.get("/metrics/query", **asked)["series"]
    steps = [step for one in series for step in one["step"]]
    values = [value for one in series for value in one["value"]]
    averages: list[float] = []
    for k, value in enumerate(values):
        kept = KEEP ** (steps[k] - steps[k - 1]) if k else 0.0
        averages.append(kept * averages[-1] + (1 - kept) * value if k else value)
    return {"keep": KEEP, "step": steps, "value": values, "expected": averages}


def _one_step(server: LiveServer, run: LaunchedRun) -> dict[str, Any]:
    """A step with padding, a dummy, and a rank that waits."""
    schedule = server.get(f"/runs/{run.id}/steps/{ODD_STEP}/schedule")["schedule"]
    row = server.get(f"/runs/{run.id}/steps/{ODD_STEP}")
    measured_s: Sequence[Sequence[float]] = schedule["measured_s"]
    makespan_s = measured_makespan_s(measured_s, StepGeometry(dp_size=len(measured_s), token_cap=schedule["token_cap"]))
    busy_s = [math.fsum(rank) for rank in measured_s]
    weights = [Fraction(text) for text in schedule["samples"]["weight"]]
    return {
        "schedule": schedule,
        "row": {key: row[key] for key in ("measured_idle_frac", "predicted_idle_frac", "padding_frac")},
        "expected": {
            "makespan_s": makespan_s,
            "busy_s": busy_s,
            "idle_frac": 1 - math.fsum(busy_s) / (makespan_s * len(busy_s)),
            "weight_sum": str(sum(weights)),
            "weight_denominator": math.lcm(*(weight.denominator for weight in weights)),
            "padding": _PADDING,
        },
    }
