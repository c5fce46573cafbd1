"""The safetensors files of a Hugging Face model directory: where each tensor is, and whether all are there.

Reads headers only, and no torch, so that the driver can refuse a directory before any rank starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open

from trainer.architecture import Architecture

# Enough to see what is wrong; a wholly different model would fill pages.
MAX_PROBLEMS_TOLD = 8

TIED_HEAD = "lm_head.weight"


def tensor_files(directory: Path) -> dict[str, Path]:
    """The file that holds each tensor.

    Raises:
        ValueError: the directory has no safetensors files.
    """
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        weight_map: Mapping[str, str] = json.loads(index.read_text())["weight_map"]
        return {name: directory / file for name, file in weight_map.items()}
    whole = directory / "model.safetensors"
    if not whole.is_file():
        raise ValueError(
            f"model.path={str(directory)!r} has neither model.safetensors nor model.safetensors.index.json"
        )
    with safe_open(whole, framework="np") as file:
        return dict.fromkeys(file.keys(), whole)


def check_tensors(directory: Path, architecture: Architecture) -> None:
    """Compare the directory with what its config.json promises.

    Raises:
        ValueError: a tensor is missing, unexpected, or of the wrong shape; all are named, up to a limit.
    """
    found = _shapes(tensor_files(directory))
    if architecture.tied_embeddings:
        # Some exports write the tied head again; the embedding is the one that counts.
        found.pop(TIED_HEAD, None)
    expected = architecture.tensor_shapes()
    problems = [f"missing {name}" for name in expected if name not in found]
    problems += [f"unexpected {name}" for name in found if name not in expected]
    problems += [
        f"{name} has shape {found[name]}, config.json says {shape}"
        for name, shape in expected.items()
        if name in found and found[name] != shape
    ]
    if problems:
        told, more = problems[:MAX_PROBLEMS_TOLD], len(problems) - MAX_PROBLEMS_TOLD
        tail = f" and {more} more" if more > 0 else ""
        raise ValueError(f"model.path={str(directory)!r}: {'; '.join(told)}{tail}")


def _shapes(files: Mapping[str, Path]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for path in sorted(set(files.values())):
        if not path.is_file():
            raise ValueError(f"model.safetensors.index.json names {path.name}, which does not exist")
        with safe_open(path, framework="np") as file:
            shapes |= {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    return shapes
