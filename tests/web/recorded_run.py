"""A run as a driver would report it: sizes that move, a falling loss, a rising reward. The same numbers every time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from random import Random

import httpx

from orchestrator.contracts.messages import StepMessage
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer

NUM_STEPS = 120


def step_lengths(step: int) -> list[int]:
    """Lengths of the samples of a step: an even number of them, between 12 and 48."""
    random = Random(step)
    size = 2 * round(15 + 8 * math.sin(step / 9) + random.uniform(-1, 1))
    return [random.randint(6, 40) for _ in range(size)]


def recorded_step(step: int, *, loss: float | str | None = None) -> StepMessage:
    random = Random(1000 + step)
    done = step / NUM_STEPS
    falling = 0.012 + 0.05 * math.exp(-3 * done) + random.gauss(0, 0.001)
    return step_message(
        step,
        lengths=step_lengths(step),
        metrics={
            "train/loss": metric(falling if loss is None else loss, weight=100.0),
            "reward/mean": metric(min(1.0, 0.35 + 0.5 * (1 - math.exp(-3 * done)) + random.gauss(0, 0.01))),
            "train/grad_norm": metric(0.4 + math.exp(-4 * done) + random.gauss(0, 0.02)),
            "train/lr": metric(1e-3 * (1 - done)),
            "train/entropy": metric(0.8 - 0.5 * done + random.gauss(0, 0.01)),
        },
    )


def record(server: LiveServer, run: LaunchedRun, steps: Iterable[int], *, loss: float | str | None = None) -> None:
    answer = server.record(run, *[recorded_step(step, loss=loss) for step in steps])
    assert answer.status_code == 200, answer.text


def tell(server: LiveServer, run: LaunchedRun, path: str, **body: object) -> httpx.Response:
    """Any other message of the attempt."""
    at = datetime.now(UTC).isoformat()
    answer = server.http.post(
        f"/api/v1/runs/{run.id}/{path}", json={"attempt": run.attempt, "at": at, **body}, headers=run.headers
    )
    assert answer.status_code == 200, answer.text
    return answer


def beat(server: LiveServer, run: LaunchedRun, num_steps: int, *, total_steps: int = NUM_STEPS) -> None:
    tell(server, run, "heartbeat", activity="generating 32 rollouts", num_steps=num_steps, total_steps=total_steps)
