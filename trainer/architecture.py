"""The shape of a model, read from or written as a Hugging Face config.json. Pure: no torch, no Megatron.

`trainer/model.py` builds a Megatron model from it, `trainer/conversion.py` its weights' names and layouts, and an
engine gets the same config.json through `hf_config`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from trainer.config_values import value_problems
from trainer.contracts.model_spec import HF_ARCHITECTURES, HuggingFaceModelSpec, ModelSpec, ScratchModelSpec


class Family(StrEnum):
    """A decoder whose layers Megatron's local spec can express."""

    QWEN3 = "qwen3"
    """RMSNorm on queries and keys; biases in attention where config.json says so."""
    QWEN2 = "qwen2"
    """Biases on queries, keys and values, always."""
    LLAMA = "llama"
    """Biases in attention and in the feed-forward where config.json says so."""

    @property
    def has_qk_norm(self) -> bool:
        return self is Family.QWEN3


FAMILIES = {name: Family(family) for name, family in HF_ARCHITECTURES.items()}

ROPE_TYPES = ("default", "linear", "llama3", "yarn")
"""Scalings of RoPE whose frequencies do not depend on the sequence; the others change within a sample as it grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Everything about a model but its weights."""

    family: Family
    num_layers: int
    hidden_size: int
    num_attention_heads: int
    num_query_groups: int
    head_dim: int
    ffn_hidden_size: int
    vocab_size: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope_theta: float
    tied_embeddings: bool
    attention_bias: bool = False
    """Biases on queries, keys, values and the attention's output. Qwen2's on all but the output are apart from it."""
    mlp_bias: bool = False
    """Biases in the feed-forward."""
    rope_scaling: Mapping[str, Any] = field(default_factory=dict)
    """config.json's rope_parameters without rope_theta: `rope_type` and what goes with it; empty for plain RoPE."""

    @property
    def rope_type(self) -> str:
        return str(self.rope_scaling.get("rope_type", "default"))

    @property
    def has_qkv_bias(self) -> bool:
        return self.attention_bias or self.family is Family.QWEN2

    @property
    def heads_per_group(self) -> int:
        """Query heads that share one key and value head."""
        return self.num_attention_heads // self.num_query_groups

    def padded_vocab_size(self, tp_size: int) -> int:
        """Rows of the embedding under tensor parallelism: every rank holds equally many."""
        return -(-self.vocab_size // tp_size) * tp_size

    @classmethod
    def from_hf_config(cls, config: Mapping[str, Any]) -> Self:
        """Read a config.json.

        Raises:
            ValueError: the architecture is unknown, it uses something that Swell's Megatron model cannot do, or a value
                is not what it must be.
        """
        family = _family(config)
        _refuse_unsupported(config, family)
        heads = int(config["num_attention_heads"])
        return cls(
            family=family,
            num_layers=int(config["num_hidden_layers"]),
            hidden_size=int(config["hidden_size"]),
            num_attention_heads=heads,
            num_query_groups=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            ffn_hidden_size=int(config["intermediate_size"]),
            vocab_size=int(config["vocab_size"]),
            max_position_embeddings=int(config.get("max_position_embeddings") or 2048),
            rms_norm_eps=float(config.get("rms_norm_eps") or 1e-6),
            rope_theta=float(_rope(config).get("rope_theta") or config.get("rope_theta") or 10_000.0),
            tied_embeddings=bool(config.get("tie_word_embeddings", False)),
            attention_bias=bool(config.get("attention_bias")) and family is not Family.QWEN2,
            mlp_bias=bool(config.get("mlp_bias")) and family is Family.LLAMA,
            rope_scaling=_rope_scaling(config),
        )

    @classmethod
    def from_scratch(cls, spec: ScratchModelSpec) -> Self:
        """The model that a spec without a directory describes, with tied embeddings."""
        return cls(
            family=Family(spec.family),
            num_layers=spec.num_layers,
            hidden_size=spec.hidden_size,
            num_attention_heads=spec.num_attention_heads,
            num_query_groups=spec.num_query_groups,
            head_dim=spec.hidden_size // spec.num_attention_heads,
            ffn_hidden_size=spec.ffn_hidden_size,
            vocab_size=spec.vocab_size,
            max_position_embeddings=spec.max_position_embeddings,
            rms_norm_eps=1e-6,
            rope_theta=10_000.0,
            tied_embeddings=True,
        )

    def hf_config(self) -> dict[str, Any]:
        """The config.json that `from_hf_config` reads back to the same architecture."""
        return {
            "architectures": [next(name for name, family in FAMILIES.items() if family is self.family)],
            "model_type": str(self.family),
            "num_hidden_layers": self.num_layers,
            "hidden_size": self.hidden_size,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_query_groups,
            "head_dim": self.head_dim,
            "intermediate_size": self.ffn_hidden_size,
            "vocab_size": self.vocab_size,
            "max_position_embeddings": self.max_position_embeddings,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_parameters": {"rope_type": self.rope_type, "rope_theta": self.rope_theta, **self.rope_scaling},
            # Older engines read the flat field, newer ones rope_parameters.
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": self.tied_embeddings,
            "attention_bias": self.attention_bias,
            **({"mlp_bias": self.mlp_bias} if self.family is Family.LLAMA else {}),
            "hidden_act": "silu",
            "initializer_range": 0.02,
            "dtype": "float32",
        }

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Every weight of the model by its Hugging Face name, in a fixed order."""
        hidden = self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, hidden)}
        for layer in range(self.num_layers):
            shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in self._layer_shapes().items()}
        shapes["model.norm.weight"] = (hidden,)
        if not self.tied_embeddings:
            shapes["lm_head.weight"] = (self.vocab_size, hidden)
        return shapes

    def _layer_shapes(self) -> dict[str, tuple[int, ...]]:
        hidden, ffn = self.hidden_size, self.ffn_hidden_size
        queries, keys = self.num_attention_heads * self.head_dim, self.num_query_groups * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "input_layernorm.weight": (hidden,),
            "self_attn.q_proj.weight": (queries, hidden),
            "self_attn.k_proj.weight": (keys, hidden),
            "self_attn.v_proj.weight": (keys, hidden),
            "self_attn.o_proj.weight": (hidden, queries),
            "post_attention_layernorm.weight": (hidden,),
            "mlp.gate_proj.weight": (ffn, hidden),
            "mlp.up_proj.weight": (ffn, hidden),
            "mlp.down_proj.weight": (hidden, ffn),
        }
        if self.has_qkv_bias:
            shapes |= {
                f"self_attn.{name}_proj.bias": (size,) for name, size in zip("qkv", (queries, keys, keys), strict=True)
            }
        if self.attention_bias:
            shapes["self_attn.o_proj.bias"] = (hidden,)
        if self.mlp_bias:
            shapes |= {"mlp.gate_proj.bias": (ffn,), "mlp.up_proj.bias": (ffn,), "mlp.down_proj.bias": (hidden,)}
        if self.family.has_qk_norm:
            shapes |= {f"self_attn.{name}_norm.weight": (self.head_dim,) for name in "qk"}
        return shapes


def load_hf_config(spec: ModelSpec) -> dict[str, Any]:
    """The config.json of a model: the directory's own, or the one that a model from scratch would have.

    Raises:
        ValueError: the directory has no config.json.
    """
    if isinstance(spec, ScratchModelSpec):
        return Architecture.from_scratch(spec).hf_config()
    return _read_config(spec)


def _read_config(spec: HuggingFaceModelSpec) -> dict[str, Any]:
    path = Path(spec.path) / "config.json"
    if not path.is_file():
        raise ValueError(f"model.path={spec.path!r} has no config.json")
    try:
        config = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"model.path={spec.path!r}: config.json is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"model.path={spec.path!r}: config.json holds a {type(config).__name__}, not an object")
    return config


def _family(config: Mapping[str, Any]) -> Family:
    names = config.get("architectures")
    if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str) and names[0] in FAMILIES:
        return FAMILIES[names[0]]
    raise ValueError(f"config.json: architectures={names} is not supported; supported are {sorted(FAMILIES)}")


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def _rope_scaling(config: Mapping[str, Any]) -> dict[str, Any]:
    scaling = {name: value for name, value in _rope(config).items() if name not in ("rope_theta", "type")}
    # Older files call the type "type".
    rope_type = scaling.get("rope_type") or _rope(config).get("type", "default")
    return {} if rope_type == "default" else {**scaling, "rope_type": rope_type}


def _refuse_unsupported(config: Mapping[str, Any], family: Family) -> None:
    problems = "; ".join(value_problems(config) or _unsupported(config, family))
    if problems:
        raise ValueError(f"config.json: {problems}")


def _unsupported(config: Mapping[str, Any], family: Family) -> Iterator[str]:
    missing = [name for name in _NEEDED if config.get(name) is None]
    if missing:
        yield f"{', '.join(missing)} missing"
    rope_type = _rope_scaling(config).get("rope_type", "default")
    if rope_type not in ROPE_TYPES:
        yield f"rope_type={rope_type!r} is not supported; supported are {list(ROPE_TYPES)}"
    if _rope(config).get("partial_rotary_factor", 1.0) != 1.0:
        yield f"partial_rotary_factor={_rope(config)['partial_rotary_factor']} is not supported; only 1.0 is"
    if config.get("use_sliding_window") or "sliding_attention" in (config.get("layer_types") or ()):
        yield "sliding-window attention (use_sliding_window, layer_types) is not supported"
    if config.get("hidden_act", "silu") != "silu":
        yield f"hidden_act={config['hidden_act']!r} is not supported; only 'silu' is"
    if config.get("mlp_bias") and family is not Family.LLAMA:
        yield f"mlp_bias=true is not supported for {family}"
    if config.get("quantization_config"):
        yield "quantization_config is not supported; give unquantized weights"


_NEEDED = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
