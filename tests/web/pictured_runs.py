"""The runs that pictures show: one that goes on, one that broke, one whose records have aged, one of other software."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from server.retention.limits import RetentionLimits
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import checkpoint_message, post
from tests.server.test_external import bare_step, external
from tests.web.recorded_detail import record_detail, record_lines, recorded_lines
from tests.web.recorded_run import beat, record, tell
from tests.web.whole_run import record_whole_run

KEPT = RetentionLimits(rollout_steps=200, log_lines=200, schedule_steps=200, timeline_steps=200)
REASON = "loss is NaN on rank 1, micro-batch 4\n\nTraceback (most recent call last):\n  File 'trainer/rank.py', line 88"


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
        }
        full.submit(name="waits", tags={"task": "spelling"})
        yield Pictured(full=full, bare=bare, runs={state: run.id for state, run in runs.items()})


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
    beat(server, run, 303)
    tell(server, run, "state", outcome="succeeded")
    return run


def _broken(server: LiveServer) -> LaunchedRun:
    """It was retried at step 60, and its loss broke."""
    first = server.launch(name="loss-breaks", tags={"task": "math", "seed": "17"})
    for start in range(0, 80, 20):
        record(server, first, range(start, start + 20))
    answer = post(server, first, "checkpoints", checkpoint_message(40), checkpoint_message(60))
    assert answer.status_code == 200, answer.text
    record(server, first, range(80, 82), loss="NaN")
    beat(server, first, 82)
    tell(server, first, "state", outcome="failed", reason=REASON)
    return first
