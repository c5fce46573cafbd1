"""A tiny transformers model for tests of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from trainer.contracts.policy_trainer import Weights

EOS, PAD, VOCAB_SIZE = 1, 0, 40

HF_CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": VOCAB_SIZE,
    "max_position_embeddings": 128,
    "tie_word_embeddings": True,
    "rope_theta": 10_000.0,
}


def hf_model(seed: int = 0) -> PreTrainedModel:
    """A model whose next token is far from uniform, so that mistakes show."""
    settings = dict(HF_CONFIG)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


def hf_weights(model: PreTrainedModel) -> Weights:
    return {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


def prompts(count: int, *, group_size: int = 1, seed: int = 0) -> list[tuple[int, ...]]:
    """Prompts of 1 to 9 tokens, each `group_size` times."""
    rng = np.random.default_rng(seed)
    made = [tuple(int(token) for token in rng.integers(2, VOCAB_SIZE, rng.integers(1, 10))) for _ in range(count)]
    return [prompt for prompt in made for _ in range(group_size)]
