"""The safetensors files of a Hugging Face model directory: where each tensor is, and whether all are there.

Reads headers only, and no torch, so that the driver can refuse a directory before any rank starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open

from trainer.architecture import Architecture

# Enough to see what is wrong; a wholly different model would fill pages.
MAX_PROBLEMS_TOLD = 8

TIED_HEAD = "lm_head.weight"

DTYPES = ("F32", "F16", "BF16")
"""All of which float32 holds exactly. Others are quantized, or no weights."""

INDEX_FILE = "model.safetensors.index.json"


def tensor_files(directory: Path) -> dict[str, Path]:
    """The file that holds each tensor.

    Raises:
        ValueError: the directory has no safetensors files, or what says where they are is damaged.
    """
    index = directory / INDEX_FILE
    if index.is_file():
        return {name: directory / file for name, file in _weight_map(index).items()}
    whole = directory / "model.safetensors"
    if not whole.is_file():
        raise ValueError(f"model.path={str(directory)!r} has neither model.safetensors nor {INDEX_FILE}")
    return dict.fromkeys(_headers_in(whole), whole)


def check_tensors(directory: Path, architecture: Architecture) -> None:
    """Compare the directory with what its config.json promises.

    Raises:
        ValueError: a tensor is missing, unexpected, or of the wrong shape or kind of number, or a file is missing,
            damaged or holds other tensors than the index says; all are named, up to a limit.
    """
    held, problems = _headers(tensor_files(directory))
    found = {name: header.shape for name, header in held.items()}
    if architecture.tied_embeddings:
        # Some exports write the tied head again; the embedding is the one that counts.
        found.pop(TIED_HEAD, None)
    expected = architecture.tensor_shapes()
    problems += [f"missing {name}" for name in expected if name not in found]
    problems += [f"unexpected {name}" for name in found if name not in expected]
    problems += [
        f"{name} has shape {found[name]}, config.json says {shape}"
        for name, shape in expected.items()
        if name in found and found[name] != shape
    ]
    problems += [
        f"{name} holds numbers of type {header.dtype}; supported are {', '.join(DTYPES)}"
        for name, header in held.items()
        if name in expected and header.dtype not in DTYPES
    ]
    if problems:
        told, more = problems[:MAX_PROBLEMS_TOLD], len(problems) - MAX_PROBLEMS_TOLD
        tail = f" and {more} more" if more > 0 else ""
        raise ValueError(f"model.path={str(directory)!r}: {'; '.join(told)}{tail}")


class TensorHeader(NamedTuple):
    """What a file says of one of its tensors."""

    shape: tuple[int, ...]
    dtype: str
    """In the words of safetensors, as `BF16`."""


def _headers(files: Mapping[str, Path]) -> tuple[dict[str, TensorHeader], list[str]]:
    """What is said of each tensor, and what is wrong with the files. A missing file's tensors count as missing too."""
    headers: dict[str, TensorHeader] = {}
    problems = []
    for path in sorted(set(files.values())):
        promised = [name for name, file in files.items() if file == path]
        if not path.is_file():
            problems.append(f"{INDEX_FILE} names {path.name}, which does not exist")
            continue
        held = _headers_in(path)
        problems += [
            f"{INDEX_FILE} says that {path.name} holds {name}; it does not" for name in promised if name not in held
        ]
        problems += [
            f"{path.name} holds {name}, which {INDEX_FILE} does not name" for name in held if name not in files
        ]
        headers |= held
    return headers, problems


def _headers_in(path: Path) -> dict[str, TensorHeader]:
    try:
        with safe_open(path, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            return {name: TensorHeader(tuple(one.get_shape()), one.get_dtype()) for name, one in slices.items()}
    except (SafetensorError, OSError) as error:
        # Among others the length of the file is compared with what its header promises.
        raise ValueError(f"{path} is cut short or is no safetensors file: {error}") from error


def _weight_map(index: Path) -> Mapping[str, str]:
    try:
        weight_map = json.loads(index.read_text())["weight_map"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{index} cannot be read: {error!r}; it must hold weight_map: file by tensor") from error
    if not isinstance(weight_map, dict) or not all(isinstance(file, str) for file in weight_map.values()):
        raise ValueError(f"{index}: weight_map must be an object of file names by tensor")
    if elsewhere := sorted({file for file in weight_map.values() if not _is_plain_name(file)}):
        raise ValueError(f"{index}: weight_map names {elsewhere[0]!r}; it must name files of its own directory")
    return weight_map


def _is_plain_name(file: str) -> bool:
    return file not in ("", "..") and Path(file).name == file
