"""A Hugging Face directory under Megatron's layouts: the same logits as transformers, the same bytes back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.trainer import factories
from tests.trainer.megatron_logits import run_ranks
from tests.trainer.rank_pool import RankPool
from trainer.architecture import Architecture, Family
from trainer.contracts.model_spec import HuggingFaceModelSpec

pytestmark = pytest.mark.stack

logger = logging.getLogger(__name__)

BASE = replace(
    Architecture.from_scratch(factories.model_spec(num_layers=4)), max_position_embeddings=128, rope_theta=1e4
)
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
MODELS = {
    "qwen3": {"family": Family.QWEN3},
    "qwen3, untied, biases": {"family": Family.QWEN3, "tied_embeddings": False, "attention_bias": True},
    "qwen2": {"family": Family.QWEN2},
    "qwen2, untied, yarn": {"family": Family.QWEN2, "tied_embeddings": False, "rope_scaling": YARN},
    "llama, llama3": {"family": Family.LLAMA, "rope_scaling": LLAMA3},
    "llama, untied, biases, linear": {
        "family": Family.LLAMA,
        "tied_embeddings": False,
        "attention_bias": True,
        "mlp_bias": True,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    },
}
LAYOUTS = [
    {},
    {"tp": 2},
    {"pp": 2},
    {"tp": 2, "pp": 2},
    {"pp": 2, "vpp": 2},
    {"tp": 2, "sequence_parallel": True, "cp": 2},
]


def random_model(architecture: Architecture):
    """A transformers model whose every weight is random, norms and biases too."""
    torch.manual_seed(1)
    weights = {name: torch.randn(shape) * 0.2 for name, shape in architecture.tensor_shapes().items()}
    weights |= {name: 1 + tensor for name, tensor in weights.items() if name.endswith("norm.weight")}
    return factories.reference_model(architecture.hf_config(), {name: w.numpy() for name, w in weights.items()})


@pytest.fixture(scope="module")
def pool() -> Iterator[RankPool]:
    pool = RankPool()
    yield pool
    pool.close()


@pytest.mark.parametrize("name", MODELS)
def test_logits_equal_those_of_transformers_and_weights_come_back_bit_for_bit(tmp_path: Path, pool: RankPool, name):
    model = random_model(replace(BASE, **MODELS[name]))
    # Shards of a few tensors each, with an index.
    model.save_pretrained(tmp_path, max_shard_size="40KB")
    saved = {name: tensor for path in tmp_path.glob("*.safetensors") for name, tensor in load_file(path).items()}
    assert (tmp_path / "model.safetensors.index.json").is_file()
    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, factories.VOCAB_SIZE, length) for length in (5, 17, 1, 9, 60)]
    with torch.no_grad():
        expected = [
            model(torch.from_numpy(tokens)[None], use_cache=False).logits[0, :-1].numpy() for tokens in sequences
        ]
    for layout in LAYOUTS:
        spec = factories.trainer_spec(**layout, model=HuggingFaceModelSpec(type="huggingface", path=str(tmp_path)))
        logits, weights = run_ranks(pool, spec, sequences)
        worst = np.abs(logits[:, : factories.VOCAB_SIZE] - np.concatenate(expected)).max()
        logger.info("%s, %s: largest difference of logits %.1e", name, layout, worst)
        assert worst <= 2e-5, layout
        assert weights.keys() == saved.keys()
        assert all(np.array_equal(weights[name], saved[name].numpy()) for name in saved), layout
