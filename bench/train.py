"""Part `train`: our loop against TRL's GRPOTrainer on the same model, prompts and lengths, alternating in one run.

Both get the whole machine, 8 prompts × 8 answers a step, one update each; what differs is how they spend the time. TRL
runs in an environment of its own, made on the first call under build/, and in two ways, of which each pair counts the
faster: one process with all cores, and one process for each core. Which one that is depends on what else the machine
does, since threads of one process wait for each other. A way of the peer that crashes or hangs is told and tried once
more; the other one stands alone where it does so again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.train_model import write_model, write_prompts

ROOT = Path(__file__).parents[1]
PEER_PYTHON = ROOT / "build" / "bench-trl" / "bin" / "python"
LENGTHS = {"short": 32, "variable": 256}
"""By name, the most tokens of an answer; short ones mostly reach it, the others end anywhere below."""
NUM_PAIRS, NUM_STEPS, NUM_WARM_UP = 3, 6, 2
TIMEOUT_S = 900
"""Of one program. It takes a small part of that where it does not hang."""


class ProgramError(Exception):
    """A program has measured nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one program took for its steps."""

    seconds: float
    samples: int
    response_tokens: int
    parts_s: Mapping[str, float]
    """By what it was at, where the program tells (`bench/step_parts.py`)."""

    @property
    def samples_per_s(self) -> float:
        return self.samples / self.seconds

    @property
    def tokens_per_s(self) -> float:
        return self.response_tokens / self.seconds

    @property
    def mean_length(self) -> float:
        return self.response_tokens / self.samples


def main() -> None:
    """Measure and print."""
    _make_peer_environment()
    with tempfile.TemporaryDirectory() as directory:
        model, prompts = Path(directory) / "model", Path(directory) / "prompts.json"
        write_model(model)
        write_prompts(prompts)
        _print(
            f"train: {NUM_PAIRS} pairs of {NUM_STEPS} steps, 8 prompts × 8 answers, after {NUM_WARM_UP} warm-up steps"
        )
        try:
            for name, max_new_tokens in LENGTHS.items():
                arguments = [str(model), str(prompts), str(max_new_tokens), str(NUM_STEPS), str(NUM_WARM_UP)]
                _report(name, max_new_tokens, [(_ours(arguments), _fastest_peer(arguments)) for _ in range(NUM_PAIRS)])
        except ProgramError as error:
            sys.exit(str(error))


def _report(name: str, max_new_tokens: int, pairs: Sequence[tuple[Measured, Measured]]) -> None:
    _print(f"  {name}, at most {max_new_tokens} new tokens")
    for who, side in (("swell", [ours for ours, _ in pairs]), ("trl 1.16", [peer for _, peer in pairs])):
        _print(
            f"    {who:9} {statistics.median(run.samples_per_s for run in side):7.1f} samples/s "
            f"{statistics.median(run.tokens_per_s for run in side):8.0f} response tokens/s   "
            f"mean length {statistics.median(run.mean_length for run in side):5.1f}"
        )
    ratios = [ours.tokens_per_s / peer.tokens_per_s for ours, peer in pairs]
    _print(f"    ratio of tokens/s, pair by pair: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    _print(f"    where our time goes: {_told_parts(min((ours for ours, _ in pairs), key=lambda run: run.seconds))}")


def _told_parts(run: Measured) -> str:
    shares = {part.replace("_", "-"): seconds / run.seconds for part, seconds in run.parts_s.items()}
    shares["other"] = 1 - sum(shares.values())
    return ", ".join(f"{part} {share:.1%}" for part, share in shares.items())


def _ours(arguments: Sequence[str]) -> Measured:
    # Ray would let its processes yield to everything else on the machine, the peer's yield to nothing.
    return _run([sys.executable, "-m", "bench.train_ours", *arguments], threads=1, RAY_worker_niceness="0")


def _fastest_peer(arguments: Sequence[str]) -> Measured:
    cores = os.cpu_count() or 1
    call = [str(ROOT / "bench" / "peers" / "trl_grpo.py"), *arguments]
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={cores}"]
    ways = [
        _tried_twice("one process", [str(PEER_PYTHON), *call], threads=cores),
        _tried_twice(f"{cores} processes", [str(PEER_PYTHON), *launch, *call], threads=1),
    ]
    measured = [way for way in ways if way is not None]
    if not measured:
        raise ProgramError("no way of trl has measured anything")
    return max(measured, key=lambda way: way.tokens_per_s)


def _tried_twice(way: str, command: Sequence[str], *, threads: int) -> Measured | None:
    """None where it fails both times. Whatever fails is told."""
    for what_next in ("tried once more", "left out"):
        try:
            return _run(command, threads=threads)
        except ProgramError as error:
            _print(f"    trl in {way}, {what_next}: {error}")
    return None


def _run(command: Sequence[str], *, threads: int, **variables: str) -> Measured:
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"} | variables
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            told, complaint = program.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _kill(program.pid)
            raise ProgramError(f"{' '.join(command)} has not ended within {TIMEOUT_S} s") from None
    if program.returncode:
        raise ProgramError(f"{' '.join(command)} ended with {program.returncode}:\n{complaint[-2000:]}")
    return Measured(**{"parts_s": {}} | json.loads(told.strip().splitlines()[-1]))


def _kill(pid: int) -> None:
    """With all that it has started: what a launcher leaves behind would go on using the cores."""
    program = psutil.Process(pid)
    for process in (*program.children(recursive=True), program):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _make_peer_environment() -> None:
    stamp = PEER_PYTHON.parents[1] / "complete"
    if stamp.is_file():
        return
    subprocess.run([sys.executable, "-m", "venv", str(PEER_PYTHON.parents[1])], check=True)
    requirements = str(ROOT / "bench" / "peers" / "trl.txt")
    # torch first and alone: what asks for it later must find the CPU build there.
    subprocess.run([str(PEER_PYTHON), "-m", "pip", "install", "--quiet", "torch==2.13.0"], check=True)
    subprocess.run([str(PEER_PYTHON), "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
    stamp.touch()


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
