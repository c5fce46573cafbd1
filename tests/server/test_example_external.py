"""`examples/external/torch_loop.py` as a user starts it, against a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orchestrator.contracts.run_state import RunState
from server.client import SwellClient
from tests.server.live_server import LiveServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "external" / "torch_loop.py"


def test_the_example_records_its_moving_batch_size(sqlite_server: LiveServer) -> None:
    token = sqlite_server.settings.token_path.read_text().strip()
    where = {"SWELL_URL": sqlite_server.url, "SWELL_TOKEN": token, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--steps", "12"], env=os.environ | where, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    with SwellClient(url=sqlite_server.url, token=token) as client:
        run = client.show("plain-torch")
        assert (run.state, run.num_steps, run.total_steps) == (RunState.SUCCEEDED, 12, 12)
        assert len(set(run.batch_sizes)) > 6
        assert min(run.batch_sizes[-3:]) > max(run.batch_sizes[:2])
        [loss] = client.metrics(run.id, "train/loss", x="samples").series
        assert loss.weight == tuple(map(float, run.batch_sizes))
        assert all(client.schedule(run.id, step).certificate.holds for step in (0, 5, 11))
        assert all(row.num_microbatches and row.num_tokens for row in client.steps(run.id))
        assert not [event for event in client.events(run.id) if event.kind.startswith("recorder.")]
