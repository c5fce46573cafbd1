"""What other trackers hold of a run is what the server holds, and one that cannot be written costs a warning."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import orjson
import pytest

from tests.e2e.swell_stack import SwellStack

pytestmark = pytest.mark.stack

# In a process of its own: what the library imports warns.
READ_TENSORBOARD = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
print(json.dumps({name: [[e.step, e.value] for e in events.Scalars(name)] for name in events.Tags()["scalars"]}))
"""

Scalars = dict[str, dict[int, float]]


def recorded(stack: SwellStack, run: str) -> Scalars:
    """Every metric of the run by step, as the server tells it, without what was not measured."""
    names = [metric["name"] for metric in stack.get(f"/runs/{run}/metrics")["items"]]
    found: Scalars = defaultdict(dict)
    for series in stack.get("/metrics/query", run=run, name=names, max_points=10_000)["series"]:
        points = zip(series["step"], series["value"], strict=True)
        found[series["name"]] |= {step: float(value) for step, value in points if value is not None}
    return {name: values for name, values in found.items() if values}


def in_tensorboard(directory: Path) -> Scalars:
    told = subprocess.run(
        [sys.executable, "-c", READ_TENSORBOARD, str(directory)], capture_output=True, text=True, check=True
    )
    return {name: dict(points) for name, points in orjson.loads(told.stdout).items()}


def in_mlflow(store: Path) -> Scalars:
    """From its files: time, value and step a line."""
    [root] = store.glob("*/*/metrics")
    return {
        str(path.relative_to(root)): {
            int(step): float(value) for _, value, step in (line.split() for line in path.read_text().splitlines())
        }
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("tracker", ["tensorboard", "mlflow"])
def test_a_mirror_holds_every_metric_of_every_step(stack: SwellStack, finished_run: str, tracker: str) -> None:
    ours = recorded(stack, finished_run)
    if tracker == "tensorboard":
        theirs = in_tensorboard(stack.home / "runs" / finished_run / "tensorboard")
    else:
        theirs = in_mlflow(stack.home.parent / "mlruns")
    assert {"train/loss", "reward/mean", "global_batch_size", "lr"} <= set(theirs)
    assert theirs.keys() == ours.keys()
    for name, values in theirs.items():
        # TensorBoard keeps single precision.
        assert values == pytest.approx(ours[name], rel=1e-6, nan_ok=True), name
    assert len(theirs["train/loss"]) == 16


def test_a_mirror_that_cannot_be_written_costs_one_warning(stack: SwellStack, finished_run: str) -> None:
    assert stack.state(finished_run) == "succeeded"
    events = stack.get(f"/runs/{finished_run}/events", limit=1000)["items"]
    [warning] = [event for event in events if event["kind"] == "mirror.failed"]
    assert "tensorboard" in warning["message"]
    assert str(stack.taken) in warning["message"]
