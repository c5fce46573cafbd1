"""The real libraries, writing files. In a process of its own each: none of them likes to share one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.contracts.tracking_spec import MlflowTracking, TensorboardTracking, TrackingSpec, WandbTracking

WRITE = """
import math, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pydantic import TypeAdapter
from orchestrator.contracts.tracking_spec import TrackingSpec
from orchestrator.mirrors.mirror import MirroredRun, MirroredStep
from orchestrator.mirrors.mirrors import mirror_of

spec = TypeAdapter(TrackingSpec).validate_json(sys.argv[1])
directory = Path(sys.argv[2])
at = datetime(2026, 1, 1, tzinfo=UTC)
for attempt, steps in ((1, (0, 1, 2)), (2, (2, 3))):
    mirror = mirror_of(spec)
    config = {"seed": 7, "batch": {"type": "all"}}
    run = MirroredRun(id="run_1", name="demo", attempt=attempt, tags={"task": "x"}, config=config, directory=directory)
    mirror.open(run)
    for step in steps:
        values = {"train/loss": attempt + step / 10, "reward/mean": math.nan, "global_batch_size": 8.0 + step}
        mirror.step(MirroredStep(step=step, at=at + timedelta(seconds=step), values=values))
    mirror.close("succeeded" if attempt == 2 else "failed")
"""


def write(spec: TrackingSpec, directory: Path) -> None:
    home = {"HOME": str(directory), "OMP_NUM_THREADS": "1", "WANDB_DIR": str(directory)}
    done = subprocess.run(
        [sys.executable, "-c", WRITE, spec.model_dump_json(), str(directory)],
        env=os.environ | home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_tensorboard_has_the_newest_attempt_of_each_step(tmp_path: Path) -> None:
    write(TensorboardTracking(type="tensorboard"), tmp_path)
    read = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]).Reload()
print([(event.step, round(event.value, 3)) for event in events.Scalars("train/loss")])
print([event.step for event in events.Scalars("global_batch_size")], len(events.Scalars("reward/mean")))
"""
    told = subprocess.run(
        [sys.executable, "-c", read, str(tmp_path / "tensorboard")], capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == ["[(0, 1.0), (1, 1.1), (2, 2.2), (3, 2.3)]", "[0, 1, 2, 3] 4"]


def test_mlflow_has_one_run_with_all_steps_and_the_config(tmp_path: Path) -> None:
    spec = MlflowTracking(type="mlflow", uri=f"file://{tmp_path}/mlruns", experiment="ours")
    write(spec, tmp_path)
    [run] = [path.parent for path in (tmp_path / "mlruns").glob("*/*/meta.yaml") if "artifact" in path.read_text()]
    assert (run / "params" / "batch.type").read_text() == "all"
    assert (run / "tags" / "swell.run_id").read_text() == "run_1"
    lines = (run / "metrics" / "train" / "loss").read_text().splitlines()
    assert [(line.split()[2], float(line.split()[1])) for line in lines] == [
        ("0", 1.0),
        ("1", 1.1),
        ("2", 1.2),
        ("2", 2.2),
        ("3", 2.3),
    ]
    assert "nan" in (run / "metrics" / "reward" / "mean").read_text()
    assert "status: 3" in (run / "meta.yaml").read_text()


def test_wandb_writes_its_files_without_a_network_and_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    write(WandbTracking.model_validate({"type": "wandb", "project": "p", "mode": "offline"}), tmp_path)
    files = list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == 2
    content = b"".join(path.read_bytes() for path in files)
    assert b"train/loss" in content
    assert b"global_batch_size" in content
