"""What of a model its plan needs: the cost of a sample, and the size of the vocabulary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.costs.cost_model import CostModel
from trainer.contracts.model_spec import HuggingFaceModelSpec, ModelSpec, ScratchModelSpec

BY_TOKENS = CostModel(linear=1.0, quadratic=0.0)
"""For a model whose shape is not known: a sample costs what its tokens are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A model as a plan sees it."""

    cost_model: CostModel
    vocab_size: int | None
    """None: not known, and the costs are by tokens."""
    problem: str | None = None
    """Why nothing is known."""


def read_model_shape(model: ModelSpec) -> ModelShape:
    """The shape of a model that is described, or that lies on this machine."""
    if isinstance(model, ScratchModelSpec):
        cost_model = CostModel.from_shape(
            num_layers=model.num_layers,
            hidden_size=model.hidden_size,
            num_attention_heads=model.num_attention_heads,
            num_query_groups=model.num_query_groups,
            head_dim=model.hidden_size // model.num_attention_heads,
            ffn_hidden_size=model.ffn_hidden_size,
            vocab_size=model.vocab_size,
        )
        return ModelShape(cost_model=cost_model, vocab_size=model.vocab_size)
    try:
        config = _read_config(model)
        return ModelShape(cost_model=CostModel.from_hf_config(config), vocab_size=config["vocab_size"])
    except (OSError, ValueError) as error:
        return ModelShape(cost_model=BY_TOKENS, vocab_size=None, problem=str(error))


def _read_config(model: HuggingFaceModelSpec) -> dict[str, Any]:
    path = Path(model.path) / "config.json"
    config = json.loads(path.read_bytes())
    if not isinstance(config, dict):
        raise ValueError(f"{path} is not a JSON object")
    return config
