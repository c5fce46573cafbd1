"""Environments of the programs that we are measured against: made once, under build/, each with its own pins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "bench" / "peers"


def peer_python(name: str) -> Path:
    """The Python of an environment with what `bench/peers/NAME.txt` lists."""
    directory = ROOT / "build" / f"bench-{name}"
    python, stamp = directory / "bin" / "python", directory / "complete"
    if not stamp.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
        requirements = str(PEERS / f"{name}.txt")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        stamp.touch()
    return python
