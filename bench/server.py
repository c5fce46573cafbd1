"""Part `server`: recording and asking, beside MLflow's and Trackio's servers, alternating in one run.

Each step that we record brings its schedule and certificate, which are verified; theirs are numbers alone. MLflow and
Trackio run in environments of their own, made on the first call under build/.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import server_reading, server_recording, server_viewers
from bench.peer_environment import PEERS, peer_python
from bench.server_reading import History
from bench.server_recording import Recorded

PEER_NAMES = {"mlflow": "MLflow 3.17", "trackio": "Trackio 0.43"}
NUM_ROUNDS = 3
HISTORY_STEPS, LONG_HISTORY_STEPS, NUM_RUNS = 20_000, 1_000_000, 5_000
SPIKES = (4_998, 9_997, 14_996, 19_995)
TIMEOUT_S = 900


def main() -> None:
    """Measure and print."""
    _print_recording([_record_all() for _ in range(NUM_ROUNDS)])
    _print_history()
    _print_viewers()


def _record_all() -> dict[str, Recorded]:
    settings = {
        "part": "recording",
        "metrics": server_recording.NUM_METRICS,
        "bulk_steps": server_recording.BULK_STEPS // 4,
        "bulk_writers": server_recording.BULK_WRITERS,
        "acks": server_recording.ACKNOWLEDGEMENTS // 2,
    }
    with tempfile.TemporaryDirectory() as directory:
        ours = server_recording.record(Path(directory) / "home")
    return {"swell": ours} | {name: Recorded(**_peer(name, settings)) for name in PEER_NAMES}


def _print_recording(rounds: Sequence[dict[str, Recorded]]) -> None:
    _print(
        f"server: {NUM_ROUNDS} rounds; steps of {server_recording.NUM_METRICS} metrics and "
        f"{len(server_recording.SAMPLES)} samples; {server_recording.BULK_WRITERS} writers in bulk"
    )
    for name in rounds[0]:
        told = [measured[name] for measured in rounds]
        line = f"    {PEER_NAMES.get(name, name):12} {_median(told, 'bulk_points_per_s'):9,.0f} points/s"
        line += f"   memory {_median(told, 'memory_bytes') / 1e6:6,.0f} MB"
        if told[0].one_writer_s:
            line += f"   acknowledged {_quantiles([s for one in told for s in one.one_writer_s])}"
            line += f"; 8 writers {_quantiles([s for one in told for s in one.eight_writers_s])}"
        _print(line)
    _print(
        f"    swell, 8 writers at {server_recording.PACED_STEPS_PER_S} steps/s each, since the moment they were due: "
        + _quantiles([s for measured in rounds for s in measured["swell"].eight_paced_s])
    )
    _print(
        "    swell, for each second of processor time: "
        f"{_median([measured['swell'] for measured in rounds], 'cpu_points_per_s'):,.0f} points"
    )
    for name, title in PEER_NAMES.items():
        ratios = [measured["swell"].bulk_points_per_s / measured[name].bulk_points_per_s for measured in rounds]
        _print(f"    times {title}, round by round: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")


def _print_history() -> None:
    _print(f"  a history of {server_reading.MAX_POINTS:,} points, with {len(SPIKES)} spikes of one step")
    for num_steps in (HISTORY_STEPS, LONG_HISTORY_STEPS):
        spikes = [at * num_steps // HISTORY_STEPS for at in SPIKES]
        with tempfile.TemporaryDirectory() as directory:
            _print_one_history("swell", num_steps, _ours_history(Path(directory), num_steps, spikes))
        if num_steps == HISTORY_STEPS:
            settings = {"part": "reading", "steps": num_steps, "spikes": spikes, "repeats": server_reading.REPEATS}
            for name, title in PEER_NAMES.items():
                _print_one_history(title, num_steps, History(**_peer(name, settings)))
    with tempfile.TemporaryDirectory() as directory:
        seconds = server_reading.list_of_runs(Path(directory) / "home", num_runs=NUM_RUNS)
    _print(f"  a list of 100 among {NUM_RUNS:,} runs: {_quantiles(seconds)}")


def _ours_history(directory: Path, num_steps: int, spikes: Sequence[int]) -> History:
    return server_reading.long_history(directory / "home", num_steps=num_steps, spikes=spikes)


def _print_one_history(title: str, num_steps: int, history: History) -> None:
    _print(
        f"    {title:12} of {num_steps:9,} steps: {_quantiles(history.history_s)}, best "
        f"{min(history.history_s) * 1e3:.1f} ms; spikes kept {history.spikes_kept} of {len(SPIKES)}; "
        f"memory {history.memory_bytes / 1e6:,.0f} MB"
    )


def _print_viewers() -> None:
    with tempfile.TemporaryDirectory() as directory:
        watched = server_viewers.watch(Path(directory) / "home")
    _print(
        f"  {server_viewers.NUM_VIEWERS} viewers at {server_viewers.EVENTS_PER_S} events/s: "
        f"{watched.core_share:.1%} of a core, {watched.idle_core_share:.1%} without viewers; delay "
        f"{_quantiles(watched.delay_s)} of {len(watched.delay_s):,} frames"
    )


def _peer(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    command = [str(peer_python(name)), str(PEERS / f"{name}_tracking.py"), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def _median(told: Sequence[Recorded], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in told))


def _quantiles(seconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {cuts[49] * 1e3:.1f} ms, p95 {cuts[94] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
