"""What a sample costs to train, predicted from its length: the measure by which the scheduler balances ranks.

Made once per run from the model's own shape; read by the scheduler and its figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

# A backward pass computes two products for each one of the forward pass: one for the weights, one for the inputs.
FORWARD_AND_BACKWARD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """cost = linear · T + quadratic · T² for a sample of T tokens; a micro-batch costs overhead + its samples' sum.

    Packed attention never looks from one sample into another, so it is the samples that count, not the packed length.
    Made from a shape the unit is floating-point operations of forward and backward; only ratios matter.
    """

    linear: float
    quadratic: float
    overhead: float = 0.0
    """What a micro-batch costs however small it is: launches, sending, weights read from memory. No shape tells it."""

    def __post_init__(self) -> None:
        # The scheduler relies on a longer sample costing more.
        if not (self.linear >= 0 and self.quadratic >= 0 and self.linear + self.quadratic > 0):
            raise ValueError(
                f"linear={self.linear} and quadratic={self.quadratic} must be at least 0, and one of them above it"
            )
        if not self.overhead >= 0:
            raise ValueError(f"overhead={self.overhead} must be at least 0")

    @classmethod
    def from_shape(
        cls,
        *,
        num_layers: int,
        hidden_size: int,
        num_attention_heads: int,
        num_query_groups: int,
        head_dim: int,
        ffn_hidden_size: int,
        vocab_size: int,
    ) -> Self:
        """Count the matrix products of a decoder with gated FFN, causal attention and a vocabulary head."""
        queries, keys = num_attention_heads * head_dim, num_query_groups * head_dim
        projections = hidden_size * (2 * queries + 2 * keys)
        ffn = 3 * hidden_size * ffn_hidden_size
        multiplications = num_layers * (projections + ffn) + hidden_size * vocab_size
        # Scores and their product with the values: T²/2 pairs each under the causal mask, head_dim multiplications a
        # pair and head.
        attention = num_layers * queries
        return cls(
            linear=float(FORWARD_AND_BACKWARD * 2 * multiplications),
            quadratic=float(FORWARD_AND_BACKWARD * 2 * attention),
        )

    @classmethod
    def from_hf_config(cls, config: Mapping[str, Any]) -> Self:
        """Read the shape from a Hugging Face config.json, as `PolicyTrainer.hf_config` gives it.

        Raises:
            ValueError: a size is missing.
        """
        heads = _size(config, "num_attention_heads")
        hidden_size = _size(config, "hidden_size")
        return cls.from_shape(
            num_layers=_size(config, "num_hidden_layers"),
            hidden_size=hidden_size,
            num_attention_heads=heads,
            num_query_groups=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden_size // heads),
            ffn_hidden_size=_size(config, "intermediate_size"),
            vocab_size=_size(config, "vocab_size"),
        )

    def per_context_parallel_rank(self, cp: int) -> CostModel:
        """What each of `cp` ranks has to do that share every sample evenly. The overhead is not shared."""
        return replace(self, linear=self.linear / cp, quadratic=self.quadratic / cp)

    def cost(self, num_tokens: int) -> float:
        """Cost of one sample."""
        return self.linear * num_tokens + self.quadratic * num_tokens**2

    def costs(self, lengths: Sequence[int]) -> npt.NDArray[np.float64]:
        """Cost of each of many samples, [N]."""
        tokens = np.asarray(lengths, dtype=np.float64)
        return self.linear * tokens + self.quadratic * tokens**2


def _size(config: Mapping[str, Any], name: str) -> int:
    if not isinstance(size := config.get(name), int):
        raise ValueError(f"config.json: {name}={size!r} must be an integer")
    return size
