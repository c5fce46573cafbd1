import logging
import subprocess
import sys
from typing import cast

import pytest

from server.supervisor.cluster import JOB_TAG, LocalCluster
from server.supervisor.ray_head import RayHead


def test_what_is_left_of_a_job_is_ended_and_told_as_nothing_unusual(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    # Ending processes asks no head.
    cluster = LocalCluster(cast("RayHead", None))
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"],
        env={JOB_TAG: "run_A-1"},
        stdout=subprocess.PIPE,
    ) as left:
        assert left.stdout is not None
        left.stdout.readline()
        cluster.end_processes("run_A-1")
        left.wait(timeout=5)
    cluster.end_processes("run_A-1")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [("INFO", f"ending what is left of job run_A-1: 1 process [{left.pid}]")]
