from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from server.system.buckets import into_columns
from server.system.schemas import SystemFigure
from tests.server.factories import START, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import checkpoint_message, post, system_sample, timeline_columns


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_buckets_of_a_machine_hold_means_and_peaks() -> None:
    samples = [system_sample(float(i), cpu_frac=(i % 2) / 2) for i in range(100)]
    at, series = into_columns(samples, max_points=10)
    assert len(at) <= 10
    cpu = next(one for one in series if one.figure is SystemFigure.CPU_FRAC)
    assert all(peak == 0.5 for peak in cpu.max[:-1])
    assert all(mean == pytest.approx(0.25, abs=0.05) for mean in cpu.mean[:-1])


def test_a_process_that_is_not_there_has_no_figure() -> None:
    driver, rank = ({"name": name, "cpu_cores": 1.0, "memory_bytes": 5} for name in ("driver", "rank 0"))
    samples = [system_sample(0.0, processes=(driver,)), system_sample(1.0, processes=(driver, rank))]
    _, series = into_columns(samples, max_points=10)
    found = {one.of: one.mean for one in series if one.figure is SystemFigure.PROCESS_CPU_CORES}
    assert found == {"driver": (1.0, 1.0), "rank 0": (None, 1.0)}


def test_samples_of_one_moment_are_one_bucket() -> None:
    at, _ = into_columns([system_sample(0.0)] * 5, max_points=2)
    assert len(at) == 1


def beat(server: LiveServer, run: LaunchedRun, **system: Any) -> None:
    sample = system_sample(**system).model_dump(mode="json")
    body = {"attempt": run.attempt, "at": START.isoformat(), "activity": "a", "num_steps": 0, "total_steps": None}
    answer = server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=body | {"system": sample}, headers=run.headers)
    assert answer.status_code == 200, answer.text


@pytest.mark.stack
def test_the_machine_is_told_over_all_attempts_and_in_ranges(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = server.launch()
    assert server.get(f"/runs/{run.id}/system")["at"] == []
    gpu = {"index": 0, "utilization_frac": 0.5, "memory_bytes": 1, "memory_total_bytes": 2}
    for second in range(6):
        beat(server, run, second=float(second), gpus=(gpu,))
    beat(server, server.next_attempt(run), second=6.0)
    whole = server.get(f"/runs/{run.id}/system")
    origin = START.timestamp()
    assert whole["at"] == [origin + i for i in range(7)]
    assert (whole["total"], whole["sampled"], whole["num_cpus"]) == (7, False, 2)
    utilization = next(one for one in whole["series"] if one["figure"] == "gpu_utilization_frac")
    assert (utilization["of"], utilization["mean"]) == ("gpu 0", [0.5] * 6 + [None])
    part = server.get(f"/runs/{run.id}/system", **{"from": origin + 2, "to": origin + 4})
    assert (part["at"], part["total"]) == ([origin + 2, origin + 3], 2)
    assert part["last_at"] == whole["last_at"]
    few = server.get(f"/runs/{run.id}/system", max_points=3)
    assert (len(few["at"]) <= 3, few["sampled"]) == (True, True)
    monkeypatch.setattr("server.system.queries._MAX_SAMPLES", 4)
    thinned = server.get(f"/runs/{run.id}/system")
    assert (len(thinned["at"]), thinned["total"], thinned["sampled"]) == (4, 7, True)


@pytest.mark.stack
def test_checkpoints_tell_what_became_of_them_and_which_way_the_run_went(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(i) for i in range(10)))
    post(server, run, "checkpoints", *(checkpoint_message(i) for i in (2, 4, 6)))
    post(server, run, "checkpoints", checkpoint_message(2, at=START + timedelta(hours=1), removed=True))
    second = server.next_attempt(run)
    server.record(second, step_message(4))
    post(server, second, "checkpoints", checkpoint_message(6))
    items = server.get(f"/runs/{run.id}/checkpoints")["items"]
    assert [(item["step"], item["attempt"], item["superseded"], item["removed"]) for item in items] == [
        (6, 2, False, False),
        (6, 1, True, False),
        (4, 1, False, False),
        (2, 1, False, True),
    ]
    assert [item["step"] for item in server.get(f"/runs/{run.id}/checkpoints", removed="false")["items"]] == [6, 6, 4]
    page = server.get(f"/runs/{run.id}/checkpoints", limit=1)
    rest = server.get(f"/runs/{run.id}/checkpoints", cursor=page["next_cursor"])
    assert [item["attempt"] for item in page["items"]] == [2]
    assert len(rest["items"]) == 3
    other = server.http.get(f"/api/v1/runs/{run.id}/checkpoints", params={"cursor": page["next_cursor"], "attempt": 1})
    assert other.status_code == 422


@pytest.mark.stack
def test_timelines_come_with_their_steps_and_in_bounded_ranges(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = server.launch()
    told = timeline_columns(4)
    server.record(run, *(step_message(i, timeline=None if i == 3 else told) for i in range(6)))
    one = server.get(f"/runs/{run.id}/steps/2/timeline")
    assert (one["step"], one["attempt"], one["timeline"]) == (2, 1, told.model_dump(mode="json"))
    assert server.get(f"/runs/{run.id}/steps/3/timeline")["timeline"] is None
    assert server.http.get(f"/api/v1/runs/{run.id}/steps/9/timeline").status_code == 404
    part = server.get(f"/runs/{run.id}/timeline", **{"from": 1, "to": 5})
    assert ([item["step"] for item in part["items"]], part["next_from"]) == ([1, 2, 3, 4], None)
    monkeypatch.setattr("server.timeline.queries.MAX_TIMELINE_SPANS", 9)
    part = server.get(f"/runs/{run.id}/timeline")
    assert ([item["step"] for item in part["items"]], part["next_from"]) == ([0, 1], 2)
    monkeypatch.setattr("server.timeline.queries.MAX_TIMELINE_STEPS", 1)
    assert server.get(f"/runs/{run.id}/timeline")["next_from"] == 1
    second = server.next_attempt(run)
    server.record(second, step_message(2))
    assert server.get(f"/runs/{run.id}/steps/2/timeline")["timeline"] is None
    assert server.get(f"/runs/{run.id}/steps/2/timeline", attempt=1)["superseded"]
