"""A checkpoint as a Hugging Face model directory: `swell export-model`, or `python -m trainer.export FROM TO`.

Weights come out in fp32, bit for bit as they were trained, with the model's config.json and tokenizer. No rank and no
Megatron is needed: a checkpoint holds whole tensors under their Hugging Face names.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from pathlib import Path

from safetensors.torch import save_file

from trainer.checkpoint import WEIGHT, read_tensors, tensor_names

_log = logging.getLogger(__name__)

MODEL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
)
"""What a model directory has beside its weights; a checkpoint holds those of them that its model came with."""


def export_checkpoint(checkpoint: Path, target: Path) -> int:
    """Write a model directory; returns the number of its parameters.

    Raises:
        ValueError: the checkpoint is damaged, or the target is there already and not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} exists and is not an empty directory; choose another one")
    names = tensor_names(checkpoint)
    if not names:
        raise ValueError(f"{checkpoint} holds no weights; give the directory of one checkpoint")
    tensors = read_tensors(checkpoint, WEIGHT, names)
    target.mkdir(parents=True, exist_ok=True)
    for name in MODEL_FILES:
        if (checkpoint / name).is_file():
            shutil.copyfile(checkpoint / name, target / name)
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()},
        target / "model.safetensors",
        # transformers asks which framework wrote the file.
        metadata={"format": "pt"},
    )
    return sum(tensor.numel() for tensor in tensors.values())


def main(arguments: list[str] | None = None) -> int:
    """Export one checkpoint; 2 when it cannot be."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(prog="python -m trainer.export", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="directory of one checkpoint")
    parser.add_argument("target", type=Path, help="model directory to make")
    given = parser.parse_args(arguments)
    try:
        num_parameters = export_checkpoint(given.checkpoint, given.target)
    except (OSError, ValueError) as error:
        _log.error("%s", error)
        return 2
    _log.info("%s: %s parameters", given.target, f"{num_parameters:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
