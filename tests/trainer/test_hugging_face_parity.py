"""A Hugging Face directory under Megatron's layouts: the same logits as transformers, the same bytes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.trainer import factories
from tests.trainer.megatron_logits import run_ranks
from trainer.architecture import Architecture, Family
from trainer.contracts.model_spec import HuggingFaceModelSpec

pytestmark = pytest.mark.stack

ARCHITECTURE = replace(
    Architecture.from_scratch(factories.model_spec(num_layers=4)), max_position_embeddings=128, rope_theta=1e6
)


def random_model(family: Family, *, tied: bool):
    """A transformers model whose every weight is random, norms and biases too."""
    architecture = replace(ARCHITECTURE, family=family, tied_embeddings=tied)
    torch.manual_seed(1)
    weights = {name: torch.randn(shape) * 0.2 for name, shape in architecture.tensor_shapes().items()}
    weights |= {name: 1 + tensor for name, tensor in weights.items() if name.endswith("norm.weight")}
    return factories.reference_model(architecture.hf_config(), {name: w.numpy() for name, w in weights.items()})


@pytest.mark.parametrize(
    ("family", "tied", "layout"),
    [
        (Family.QWEN3, True, {"tp": 1}),
        (Family.QWEN3, True, {"tp": 2}),
        (Family.QWEN3, True, {"pp": 2}),
        (Family.QWEN3, False, {"tp": 2, "pp": 2}),
        (Family.QWEN2, True, {"tp": 2}),
        (Family.LLAMA, False, {"pp": 2}),
    ],
)
def test_logits_equal_those_of_transformers_and_weights_come_back_bit_for_bit(tmp_path: Path, family, tied, layout):
    model = random_model(family, tied=tied)
    model.save_pretrained(tmp_path)
    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, factories.VOCAB_SIZE, length) for length in (5, 17, 1, 9, 30)]
    spec = factories.trainer_spec(**layout, model=HuggingFaceModelSpec(type="huggingface", path=str(tmp_path)))
    logits, weights = run_ranks(spec, sequences)
    with torch.no_grad():
        expected = [model(torch.from_numpy(tokens)[None], use_cache=False).logits[0].numpy() for tokens in sequences]
    worst = np.abs(logits[:, : factories.VOCAB_SIZE] - np.concatenate(expected)).max()
    assert worst <= 2e-5
    saved = load_file(tmp_path / "model.safetensors")
    assert weights.keys() == saved.keys()
    assert all(np.array_equal(weights[name], saved[name].numpy()) for name in saved)
