"""What the values of a config.json must be before anything is computed with them. Pure; for `trainer/architecture.py`.

A file that was cut, edited by hand or written by another program may hold anything that JSON can say, NaN included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

# Every tensor of every layer is named before the files are looked at; no model comes near it.
MAX_LAYERS = 10_000

_SIZES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)
_TRUTHS = ("tie_word_embeddings", "attention_bias", "mlp_bias", "use_sliding_window")
_ROPE = ("rope_parameters", "rope_scaling")

_NEEDED_BY_ROPE = {
    "linear": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
_POSITIVE_IN_ROPE = {"rope_theta", *(field for fields in _NEEDED_BY_ROPE.values() for field in fields)}


def value_problems(config: Mapping[str, Any]) -> list[str]:
    """What is wrong with the values that are there, one sentence each; null counts as not there."""
    given = {name: value for name, value in config.items() if value is not None}
    problems = [
        f"{name}={given[name]!r} must be a positive integer"
        for name in _SIZES
        if name in given and not _is_size(given[name])
    ]
    problems += [
        f"{name}={given[name]!r} must be a positive number"
        for name in ("rms_norm_eps", "rope_theta")
        if name in given and not _is_positive(given[name])
    ]
    problems += [
        f"{name}={given[name]!r} must be true or false"
        for name in _TRUTHS
        if name in given and not isinstance(given[name], bool)
    ]
    if not isinstance(given.get("layer_types", []), list):
        problems.append(f"layer_types={given['layer_types']!r} must be a list")
    for name in _ROPE:
        if name in given:
            problems += _rope_problems(name, given[name])
    # How sizes fit together can be said only of sizes.
    return problems or list(_fit_problems(given))


def _rope_problems(name: str, rope: Any) -> Iterator[str]:
    if not isinstance(rope, Mapping):
        yield f"{name}={rope!r} must be an object"
        return
    rope_type = rope.get("rope_type") or rope.get("type")
    if rope_type is not None and not isinstance(rope_type, str):
        yield f"{name}.rope_type={rope_type!r} must be a text"
        return
    for field in _NEEDED_BY_ROPE.get(rope_type or "default", ()):
        if rope.get(field) is None:
            yield f"{name}.{field} is missing; rope_type={rope_type!r} needs it"
    for field, value in rope.items():
        if field in _POSITIVE_IN_ROPE and value is not None and not _is_positive(value):
            yield f"{name}.{field}={value!r} must be a positive number"
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"{name}.{field}={value!r} must be finite"


def _fit_problems(given: Mapping[str, Any]) -> Iterator[str]:
    if given.get("num_hidden_layers", 0) > MAX_LAYERS:
        yield f"num_hidden_layers={given['num_hidden_layers']} is more than {MAX_LAYERS}"
    heads = given.get("num_attention_heads", 1)
    if heads % given.get("num_key_value_heads", heads):
        yield f"num_attention_heads={heads} is not a multiple of num_key_value_heads={given['num_key_value_heads']}"
    if "head_dim" not in given and given.get("hidden_size", heads) % heads:
        yield f"hidden_size={given['hidden_size']} is not a multiple of num_attention_heads={heads}; give head_dim"
    head_dim = given.get("head_dim", given.get("hidden_size", 2 * heads) // heads)
    if head_dim % 2:
        yield f"head_dim={head_dim} is odd; RoPE turns the two halves of a head against each other"


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
