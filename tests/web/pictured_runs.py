"""The runs that pictures show, by what is to be seen of each: one that goes on, and all that is not as usual."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.contracts.run_state import RunTrigger
from server.retention.limits import RetentionLimits
from tests.server.factories import idling
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import (
    checkpoint_message,
    group_message,
    iteration_message,
    post,
    rollout_message,
)
from tests.server.test_external import bare_step, external
from tests.web.recorded_detail import record_detail, record_lines, recorded_lines
from tests.web.recorded_run import NUM_STEPS, beat, record, recorded_step, tell
from tests.web.whole_run import record_whole_run

KEPT = RetentionLimits(rollout_steps=200, log_lines=200, schedule_steps=200, timeline_steps=200)
REASON = (
    "loss is NaN on rank 1, micro-batch 4\n\nTraceback (most recent call last):\n"
    + "".join(
        f'  File "trainer/part_{k}.py", line {31 + 7 * k}, in step_{k}\n    loss = inner(batch)\n' for k in range(12)
    )
    + "trainer.errors.NonFiniteError: loss is NaN on rank 1, micro-batch 4"
)

NO_MODEL = (
    "model.path: there is no config.json in models/qwen3-4b\n\nTraceback (most recent call last):\n"
    "  File 'orchestrator/main.py', line 64, in main\n  File 'trainer/load.py', line 31, in load_config\n"
    "FileNotFoundError: models/qwen3-4b/config.json"
)
SKIPPED = "finished; 6 of 30 iterations trained nothing: the filter left no rollout, or too few for a step"
WAITS = "waits for spell-backward-grpo, paused-for-a-while to end; this server runs 2 at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """A server with runs, by what they show, and one without."""

    full: LiveServer
    bare: LiveServer
    runs: dict[str, str]


@contextmanager
def pictured_servers() -> Iterator[Pictured]:
    with (
        tempfile.TemporaryDirectory() as home,
        running_server(Path(home) / "full", retention=KEPT) as full,
        running_server(Path(home) / "bare") as bare,
    ):
        runs = {
            "external": _external(full),
            "pruned": _pruned(full),
            "broken": _broken(full),
            "live": record_whole_run(full),
            "empty": full.launch(name="fresh"),
            "stillborn": _stillborn(full),
            "advised": _advised(full),
            "skipped": _skipped(full),
            "paused": _paused(full),
            "lost": _lost(full),
        }
        ids = {state: run.id for state, run in runs.items()}
        yield Pictured(full=full, bare=bare, runs=ids | {"queued": _queued(full)})


def _external(server: LiveServer) -> LaunchedRun:
    run = external(server, name="trl-baseline")
    body = [
        bare_step(step, metrics={"train/loss": {"value": 1 / (1 + step / 9), "weight": 1.0, "reduction": "mean"}})
        for step in range(60)
    ]
    answer = server.http.post(
        f"/api/v1/runs/{run.id}/steps:batch", json={"attempt": run.attempt, "steps": body}, headers=run.headers
    )
    assert answer.status_code == 200, answer.text
    tell(server, run, "state", outcome="succeeded")
    return run


def _pruned(server: LiveServer) -> LaunchedRun:
    """Its rollouts, schedules, timelines and most of its log are not kept any more."""
    run = server.launch(name="older-than-the-limits")
    record_detail(server, run, range(3))
    for first in range(3, 303, 20):
        record(server, run, range(first, first + 20))
    record_lines(server, run, recorded_lines(0, 600))
    for _ in range(2):
        server.services.retention.look()
    beat(server, run, 303, total_steps=303)
    tell(server, run, "state", outcome="succeeded")
    return run


def _broken(server: LiveServer) -> LaunchedRun:
    """Its ranks waited for each other, and its loss broke."""
    first = server.launch(name="loss-breaks", tags={"task": "math", "seed": "17"})
    for start in range(0, 80, 20):
        steps = [idling(recorded_step(step), 0.2) for step in range(start, start + 20)]
        answer = server.record(first, *steps)
        assert answer.status_code == 200, answer.text
    answer = post(server, first, "checkpoints", checkpoint_message(40), checkpoint_message(60))
    assert answer.status_code == 200, answer.text
    record(server, first, range(80, 82), loss="NaN")
    beat(server, first, 82)
    tell(server, first, "state", outcome="failed", reason=REASON)
    return first


def _stillborn(server: LiveServer) -> LaunchedRun:
    """It failed before its first step."""
    run = server.launch(name="never-began")
    record_lines(server, run, recorded_lines(0, 12, source="driver"))
    tell(server, run, "state", outcome="failed", reason=NO_MODEL)
    return run


def _advised(server: LiveServer) -> LaunchedRun:
    """It ended well, and learnt nothing: its loss exploded, and its rewards are all the same."""
    run = server.launch(name="learns-nothing", tags={"task": "math"})
    record(server, run, range(40))
    record(server, run, range(40, 60), loss=480.0)
    for iteration in (58, 59):
        groups = [
            group_message(
                f"g{iteration}.{i}",
                [rollout_message(f"r{iteration}.{i}.{k}", step=iteration, reward=0.0, advantage=0.0) for k in range(4)],
            )
            for i in range(4)
        ]
        answer = post(server, run, "rollouts", iteration_message(iteration, groups))
        assert answer.status_code == 200, answer.text
    beat(server, run, 60, total_steps=60)
    tell(server, run, "state", outcome="succeeded")
    return run


def _skipped(server: LiveServer) -> LaunchedRun:
    """It ended well, without a step of some of its iterations."""
    run = server.launch(name="filter-left-little")
    record(server, run, range(24))
    beat(server, run, 24, total_steps=24)
    tell(server, run, "state", outcome="succeeded", reason=SKIPPED)
    return run


def _paused(server: LiveServer) -> LaunchedRun:
    run = server.launch(name="paused-for-a-while", tags={"task": "spelling"})
    record(server, run, range(48))
    beat(server, run, 48)
    answer = server.http.post(f"/api/v1/runs/{run.id}/pause")
    assert answer.status_code == 200, answer.text
    tell(server, run, "heartbeat", activity="paused", num_steps=48, total_steps=NUM_STEPS, is_paused=True)
    return run


def _lost(server: LiveServer) -> LaunchedRun:
    """Nothing is heard of its driver."""
    run = server.launch(name="driver-is-silent")
    record(server, run, range(32))
    beat(server, run, 32)
    server.services.runs.apply(run.id, RunTrigger.SILENCE, reason="No heartbeat for 60 s.")
    return run


def _queued(server: LiveServer) -> str:
    """It waits for two others."""
    run_id = server.submit(name="waits", tags={"task": "spelling"})
    server.services.runs.set_reason(run_id, WAITS)
    return run_id
