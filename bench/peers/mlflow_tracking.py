"""MLflow's part of `bench.server`, in its own environment: prints one line of JSON.

Its tracking server on SQLite, asked by its own client: `log_batch` with 1,000 points, the most that it takes at once.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient

POINTS_PER_CALL = 1000


def main() -> None:
    settings = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        os.environ["MLFLOW_TRACKING_URI"] = url = f"http://127.0.0.1:{port}"
        store = f"sqlite:///{Path(directory) / 'mlflow.db'}"
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", store, "--port", str(port)]
        with (Path(directory) / "log").open("wb") as log:
            server = subprocess.Popen([*command, "--artifacts-destination", directory], stdout=log, stderr=log)
        try:
            wait_for(f"{url}/health")
            told = recording(settings) if settings["part"] == "recording" else reading(settings, url)
            told["memory_bytes"] = memory_of(server.pid)
        finally:
            for process in [*psutil.Process(server.pid).children(recursive=True), psutil.Process(server.pid)]:
                process.kill()
    sys.stdout.write(json.dumps(told) + "\n")


def recording(settings: dict[str, Any]) -> dict[str, Any]:
    client, steps, metrics = MlflowClient(), settings["bulk_steps"], settings["metrics"]

    def bulk(run: str) -> None:
        for begin in range(0, steps * metrics, POINTS_PER_CALL):
            points = [
                Metric(f"m{i % metrics}", i * 0.5, 0, i // metrics)
                for i in range(begin, min(begin + POINTS_PER_CALL, steps * metrics))
            ]
            client.log_batch(run, metrics=points)

    runs = new_runs(client, settings["bulk_writers"])
    began = time.perf_counter()
    at_once([partial(bulk, run) for run in runs])
    bulk_s = time.perf_counter() - began
    return {
        "bulk_points_per_s": steps * metrics * len(runs) / bulk_s,
        "one_writer_s": acknowledged(client, 1, settings["acks"], metrics),
        "eight_writers_s": acknowledged(client, 8, settings["acks"] // 4, metrics),
    }


def acknowledged(client: MlflowClient, writers: int, count: int, metrics: int) -> list[float]:
    seconds: list[float] = []

    def write(run: str) -> None:
        for step in range(count):
            began = time.perf_counter()
            client.log_batch(run, metrics=[Metric(f"m{i}", step * 0.5, 0, step) for i in range(metrics)])
            seconds.append(time.perf_counter() - began)

    at_once([partial(write, run) for run in new_runs(client, writers)])
    return seconds


def reading(settings: dict[str, Any], url: str) -> dict[str, Any]:
    client, steps, spikes = MlflowClient(), settings["steps"], set(settings["spikes"])
    [run] = new_runs(client, 1)
    for begin in range(0, steps, POINTS_PER_CALL):
        points = [Metric("m", 5.0 if i in spikes else 1.0, 0, i) for i in range(begin, begin + POINTS_PER_CALL)]
        client.log_batch(run, metrics=points)
    query = f"{url}/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?run_ids={run}&metric_key=m&max_results=1000"
    seconds = []
    for _ in range(settings["repeats"]):
        began = time.perf_counter()
        with urllib.request.urlopen(query) as answer:
            body = answer.read()
        seconds.append(time.perf_counter() - began)
    values = [point["value"] for point in json.loads(body)["metrics"]]
    return {"history_s": seconds, "points": len(values), "spikes_kept": sum(value == 5.0 for value in values)}


def new_runs(client: MlflowClient, count: int) -> list[str]:
    return [client.create_run("0").info.run_id for _ in range(count)]


def at_once(calls: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memory_of(pid: int) -> int:
    server = psutil.Process(pid)
    return sum(process.memory_info().rss for process in [server, *server.children(recursive=True)])


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
