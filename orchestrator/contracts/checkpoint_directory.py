"""Which checkpoints of a run are on disk, and which of them it stands at. Only reads, so that anyone may ask any time.

`orchestrator/checkpointing/checkpoint_store.py` writes what is read here; `swell export-model` asks too.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path

MANIFEST = "manifest.json"
ASIDE = "aside.json"
FORMAT = 1

_NAME = re.compile(r"step-(\d{8,})")
_log = logging.getLogger(__name__)


def checkpoint_name(step: int) -> str:
    """The directory of the checkpoint before this step, within those of the run."""
    return f"step-{step:08d}"


def steps_on_disk(directory: Path) -> Sequence[int]:
    """The steps of all checkpoints, also of those that are damaged or set aside."""
    found = (_NAME.fullmatch(path.name) for path in (directory.iterdir() if directory.is_dir() else ()))
    return sorted(int(match[1]) for match in found if match)


def steps_aside(directory: Path) -> set[int]:
    """Steps that the run went back behind, and has not come to again."""
    path = directory / ASIDE
    return set(json.loads(path.read_text())) if path.exists() else set()


def newest_step(directory: Path) -> int | None:
    """The newest checkpoint that is whole and was not set aside, or None without any."""
    aside = steps_aside(directory)
    for step in reversed([step for step in steps_on_disk(directory) if step not in aside]):
        problem = checkpoint_problem(directory / checkpoint_name(step))
        if problem is None:
            return step
        _log.warning("checkpoint %s is left out: %s", checkpoint_name(step), problem)
    return None


def checkpoint_problem(path: Path) -> str | None:
    """Why the checkpoint cannot be loaded, in one sentence, or None when every file is there in full."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        return f"{MANIFEST} cannot be read: {error}"
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return f"{MANIFEST} has another format than {FORMAT}"
    for name, size in manifest["files"].items():
        file = path / name
        if not file.is_file():
            return f"{name} is missing"
        if file.stat().st_size != size:
            return f"{name} has {file.stat().st_size} bytes, {MANIFEST} says {size}"
    return None
