"""The weights that training starts from: a Hugging Face directory's, or random ones that only the seed decides.

Both are whole tensors by Hugging Face names, the same for any parallel layout; `trainer/conversion.py` cuts them up.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from trainer.architecture import Architecture
from trainer.checkpoint_files import tensor_files
from trainer.contracts.model_spec import ModelSpec, ScratchModelSpec
from trainer.contracts.progress import tracked

# The initializer_range of GPT-2 and Qwen.
INITIAL_STD = 0.02


def initial_weights(
    spec: ModelSpec, architecture: Architecture, *, seed: int, names: Collection[str]
) -> dict[str, Tensor]:
    """The tensors of the given Hugging Face names, in float32. A rank asks only for those of its pipeline stage.

    Raises:
        ValueError: a directory's tensor holds NaN or infinite numbers.
    """
    if isinstance(spec, ScratchModelSpec):
        return {name: tensor for name, tensor in _random_weights(architecture, seed).items() if name in names}
    return _read_tensors(Path(spec.path), names)


def _random_weights(architecture: Architecture, seed: int) -> dict[str, Tensor]:
    """Norms are one, biases zero, everything else normal. The order of the names is fixed, hence so are the numbers."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in tracked(list(architecture.tensor_shapes().items()), what="drawing weights", unit="tensors"):
        if name.endswith("norm.weight"):
            weights[name] = torch.ones(shape)
        elif name.endswith(".bias"):
            weights[name] = torch.zeros(shape)
        else:
            weights[name] = torch.empty(shape).normal_(std=INITIAL_STD, generator=generator)
    return weights


def _read_tensors(directory: Path, names: Collection[str]) -> dict[str, Tensor]:
    files = tensor_files(directory)
    weights: dict[str, Tensor] = {}
    in_order = sorted(names, key=lambda name: (files[name], name))
    for path, of_file in groupby(tracked(in_order, what="loading weights", unit="tensors"), key=files.__getitem__):
        with safe_open(path, framework="pt") as file:
            weights |= {name: file.get_tensor(name).float() for name in of_file}
    if wrong := sorted(name for name, tensor in weights.items() if not tensor.isfinite().all()):
        told = ", ".join(wrong[:4])
        raise ValueError(
            f"model.path={str(directory)!r}: NaN or infinite numbers in {told} ({len(wrong)} tensors in all)"
        )
    return weights
