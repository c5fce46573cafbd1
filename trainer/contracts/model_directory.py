"""What of a Hugging Face model directory can be judged without loading a weight; for the checks before a run is taken.

The trainer's ranks judge by the same functions, so that what passes here starts there.
"""

from __future__ import annotations

from pathlib import Path

from trainer.architecture import Architecture, load_hf_config
from trainer.checkpoint_files import check_tensors
from trainer.contracts.model_spec import HuggingFaceModelSpec
from trainer.contracts.parallelism_spec import ModelShape


def model_shape(model: HuggingFaceModelSpec) -> ModelShape:
    """What a layout cuts of the model that config.json describes. Raises ValueError for one that cannot be trained."""
    return Architecture.from_hf_config(load_hf_config(model))


def check_weight_files(model: HuggingFaceModelSpec) -> None:
    """Compare the headers of the weight files with config.json. Raises ValueError with what is missing or other."""
    check_tensors(Path(model.path), Architecture.from_hf_config(load_hf_config(model)))
