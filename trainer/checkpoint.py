"""A trainer's part of a checkpoint: whole tensors by Hugging Face names, so that any parallel layout can go on from it.

    stage-0.safetensors, stage-1.safetensors, …    weight/NAME, exp_avg/NAME, exp_avg_sq/NAME of a pipeline stage, fp32;
                                                   reference/NAME where the phase keeps a frozen reference
    trainer.json                                   updates so far, position of the learning rate

Adam's moments have the shape of their weight, and fusing, splitting and padding only move numbers: so the moments go
through `trainer/conversion.py` as the weights do, and come out bit for bit. Called by `trainer/rank.py`; nothing in
training draws random numbers, so there is no generator to save.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

from trainer.contracts.progress import tracked

_log = logging.getLogger(__name__)

WEIGHT, REFERENCE = "weight", "reference"
_STATE_FILE = "trainer.json"
_FORMAT = 1

Arrays = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerPosition:
    """Where the phase stands, beside its tensors."""

    num_updates: int
    lr_schedule: dict[str, Any]


class BackgroundWrite:
    """Writes while training goes on; what went wrong is raised when somebody waits for it."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Return when everything is written.

        Raises:
            OSError: the disk is full, or the directory is gone.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._write()
        except Exception as error:  # the edge of the thread: `wait` raises it again
            self._error = error


def write_stage(directory: Path, stage: int, tensors: Mapping[str, Arrays]) -> None:
    """Write one pipeline stage. tensors: by kind (`weight` and the moments), then by Hugging Face name, each in the
    shape of its weight.
    """
    flat = {f"{kind}/{name}": array for kind, arrays in tensors.items() for name, array in arrays.items()}
    num_bytes = sum(array.nbytes for array in flat.values())
    _log.info("checkpoint: writing %d tensors of stage %d, %.1f MiB", len(flat), stage, num_bytes / 2**20)
    save_file(flat, directory / f"stage-{stage}.safetensors")
    _log.info("checkpoint: stage %d is written", stage)


def write_position(directory: Path, position: TrainerPosition) -> None:
    """Write what stands beside the tensors; one rank does it."""
    (directory / _STATE_FILE).write_text(json.dumps({"format": _FORMAT, **asdict(position)}))


def read_position(directory: Path) -> TrainerPosition:
    """Read what `write_position` wrote.

    Raises:
        ValueError: there is no such file, or it has another format.
    """
    path = directory / _STATE_FILE
    try:
        told = json.loads(path.read_text())
        if told.pop("format") != _FORMAT:
            raise ValueError(f"has another format than {_FORMAT}")
        return TrainerPosition(**told)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"checkpoint {directory}: {_STATE_FILE} cannot be read: {error}") from error


def read_tensors(directory: Path, kind: str, names: Collection[str]) -> dict[str, Tensor]:
    """Whole tensors of one kind by Hugging Face names, wherever the stages of the writing layout put them.

    Raises:
        ValueError: a file is damaged, or a name is in none of them.
    """
    found: dict[str, Tensor] = {}
    for path in sorted(directory.glob("stage-*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                held = {key.removeprefix(f"{kind}/") for key in file.keys() if key.startswith(f"{kind}/")}  # noqa: SIM118
                wanted = tracked(sorted(held.intersection(names)), what=f"reading {kind}", unit="tensors")
                found |= {name: file.get_tensor(f"{kind}/{name}") for name in wanted}
        # safetensors has an error of its own, which is not an OSError.
        except Exception as error:
            raise ValueError(f"checkpoint {directory}: {path.name} cannot be read: {error}") from error
    if missing := sorted(set(names) - found.keys()):
        raise ValueError(f"checkpoint {directory} lacks {kind} of {', '.join(missing[:4])} ({len(missing)} in all)")
    return found


def tensor_names(directory: Path, kind: str = WEIGHT) -> list[str]:
    """The Hugging Face names of all tensors of one kind."""
    names: list[str] = []
    for path in sorted(directory.glob("stage-*.safetensors")):
        with safe_open(path, framework="pt") as file:
            names += [key.removeprefix(f"{kind}/") for key in file.keys() if key.startswith(f"{kind}/")]  # noqa: SIM118
    return names
