"""Trackio's part of `bench.server`, in its own environment: prints one line of JSON.

Its self-hosted server, told by its own client. `trackio.log` returns before anything is stored, so that there is no
acknowledgement to time; a bulk ends when `finish` has sent everything. Its history is asked of the storage itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

import psutil

SERVE = "import trackio; trackio.show(open_browser=False, block_thread=True, host='127.0.0.1')"


def main() -> None:
    settings = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        os.environ["TRACKIO_DIR"] = directory
        told = recording(settings) if settings["part"] == "recording" else reading(settings)
    sys.stdout.write(json.dumps(told) + "\n")


def recording(settings: dict[str, Any]) -> dict[str, Any]:
    import trackio

    command = [sys.executable, "-u", "-c", SERVE]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    try:
        url = next(found[0] for line in server.stdout if (found := re.search(r"http\S*write_token=[\w-]+", line)))
        metrics, steps = settings["metrics"], settings["bulk_steps"] * settings["bulk_writers"]
        with contextlib.redirect_stdout(sys.stderr):
            trackio.init(project="p", name="r", server_url=url, auto_log_cpu=False)
            began = time.perf_counter()
            for step in range(steps):
                trackio.log({f"m{i}": step * 0.5 for i in range(metrics)}, step=step)
            trackio.finish()
        bulk_s = time.perf_counter() - began
        memory_bytes = psutil.Process(server.pid).memory_info().rss
    finally:
        server.kill()
    return {"bulk_points_per_s": steps * metrics / bulk_s, "memory_bytes": memory_bytes}


def reading(settings: dict[str, Any]) -> dict[str, Any]:
    from trackio.sqlite_storage import SQLiteStorage

    steps, spikes = settings["steps"], set(settings["spikes"])
    for begin in range(0, steps, 10_000):
        numbers = list(range(begin, begin + 10_000))
        SQLiteStorage.bulk_log("p", "r", [{"m": 5.0 if step in spikes else 1.0} for step in numbers], steps=numbers)
    seconds = []
    for _ in range(settings["repeats"]):
        began = time.perf_counter()
        found = SQLiteStorage.get_metric_values("p", "r", "m", max_points=1000)
        seconds.append(time.perf_counter() - began)
    values = [point["value"] for point in found]
    return {
        "history_s": seconds,
        "points": len(values),
        "spikes_kept": sum(value == 5.0 for value in values),
        "memory_bytes": psutil.Process().memory_info().rss,
    }


if __name__ == "__main__":
    main()
