from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import AutoConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from tests.trainer import factories
from trainer.architecture import Architecture, Family
from trainer.rotary import RotaryFrequencies, rotate

LLAMA = replace(
    Architecture.from_scratch(factories.model_spec(hidden_size=64)), family=Family.LLAMA, max_position_embeddings=256
)
SCALINGS = {
    "default": {},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
}


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rotation_is_that_of_transformers(scaling):
    architecture = replace(LLAMA, rope_theta=1e4, rope_scaling=SCALINGS[scaling])
    assert architecture.rope_type == scaling
    config = {name: value for name, value in architecture.hf_config().items() if name != "architectures"}
    positions = torch.tensor([0, 1, 2, 200, 0, 255, 7])
    torch.manual_seed(0)
    query, key = torch.randn(7, 4, 16), torch.randn(7, 2, 16)
    cos, sin = LlamaRotaryEmbedding(AutoConfig.for_model(**config))(query, positions[None])
    expected = apply_rotary_pos_emb(query.transpose(0, 1)[None], key.transpose(0, 1)[None], cos, sin)
    rotation = RotaryFrequencies(architecture).rotation(positions, torch.float32)
    for heads, wanted in zip((query, key), expected, strict=True):
        torch.testing.assert_close(rotate(heads, rotation), wanted[0].transpose(0, 1), rtol=1e-6, atol=1e-6)
