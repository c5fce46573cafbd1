from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from transformers import AutoConfig, AutoModelForCausalLM

from tests.trainer import factories
from trainer.architecture import Architecture, Family, load_hf_config
from trainer.contracts.model_spec import HuggingFaceModelSpec

SCRATCH = Architecture.from_scratch(factories.model_spec())


VARIANTS = {
    "qwen3": {"family": Family.QWEN3},
    "qwen3, biases": {"family": Family.QWEN3, "attention_bias": True},
    "qwen2": {"family": Family.QWEN2},
    "llama": {"family": Family.LLAMA},
    "llama, biases": {"family": Family.LLAMA, "attention_bias": True, "mlp_bias": True},
    "llama, scaled RoPE": {"family": Family.LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_config_json_reads_back_to_the_same_architecture(variant, tied):
    architecture = replace(SCRATCH, **VARIANTS[variant], tied_embeddings=tied, rope_theta=1e6)
    assert Architecture.from_hf_config(architecture.hf_config()) == architecture


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_tensor_shapes_are_those_of_transformers(variant, tied):
    architecture = replace(SCRATCH, **VARIANTS[variant], tied_embeddings=tied)
    config = AutoConfig.for_model(**{k: v for k, v in architecture.hf_config().items() if k != "architectures"})
    model = AutoModelForCausalLM.from_config(config)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert architecture.tensor_shapes() == shapes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM"),
        ({"architectures": None}, "architectures"),
        ({"rope_parameters": {"rope_type": "dynamic"}}, "dynamic"),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"vocab_size": None, "hidden_size": None}, "hidden_size, vocab_size missing"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"rope_parameters": {"rope_type": "longrope", "long_factor": [1.0]}}, "longrope"),
    ],
)
def test_what_the_model_cannot_do_is_refused_by_name(changes, told):
    with pytest.raises(ValueError, match=told):
        Architecture.from_hf_config({**SCRATCH.hf_config(), **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"architectures": 5}, "architectures=5 is not supported"),
        ({"architectures": [["Qwen3ForCausalLM"]]}, "is not supported"),
        ({"rms_norm_eps": math.nan}, "rms_norm_eps=nan must be a positive number"),
        ({"rms_norm_eps": -1}, "rms_norm_eps=-1 must be a positive number"),
        ({"rope_theta": math.inf}, "rope_theta=inf must be a positive number"),
        ({"hidden_size": math.inf}, "hidden_size=inf must be a positive integer"),
        ({"hidden_size": 32.5}, "hidden_size=32.5 must be a positive integer"),
        ({"hidden_size": "32", "vocab_size": 0}, "hidden_size='32' must be a positive integer; vocab_size=0"),
        ({"num_hidden_layers": True}, "num_hidden_layers=True must be a positive integer"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers=1000000000 is more than 10000"),
        ({"num_key_value_heads": 3}, "num_attention_heads=4 is not a multiple of num_key_value_heads=3"),
        ({"num_attention_heads": 6, "head_dim": None}, "hidden_size=32 is not a multiple of num_attention_heads=6"),
        ({"head_dim": 7}, "head_dim=7 is odd"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings='false' must be true or false"),
        ({"layer_types": 3}, "layer_types=3 must be a list"),
        ({"rope_parameters": "yarn"}, "rope_parameters='yarn' must be an object"),
        ({"rope_parameters": {"rope_type": 3}}, "rope_parameters.rope_type=3 must be a text"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters.factor is missing; rope_type='yarn' needs it"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "rope_scaling.factor=0 must be a positive number"),
        ({"rope_parameters": {"beta_fast": math.nan}}, "rope_parameters.beta_fast=nan must be finite"),
    ],
)
def test_values_that_are_not_what_they_must_be_are_refused_by_name(changes, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        Architecture.from_hf_config({**SCRATCH.hf_config(), **changes})


def test_what_config_json_leaves_null_is_as_if_it_were_not_there():
    names = ("max_position_embeddings", "rms_norm_eps", "rope_theta", "rope_parameters", "head_dim", "layer_types")
    config = SCRATCH.hf_config()
    left_out = {name: value for name, value in config.items() if name not in names}
    assert Architecture.from_hf_config(config | dict.fromkeys(names)) == Architecture.from_hf_config(left_out)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[1]"])
def test_a_config_that_cannot_be_read_is_refused_with_its_directory(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        load_hf_config(HuggingFaceModelSpec(type="huggingface", path=str(tmp_path)))


def test_defaults_of_older_config_files_are_filled_in():
    config = SCRATCH.hf_config()
    for name in ("head_dim", "rope_parameters", "num_key_value_heads"):
        del config[name]
    architecture = Architecture.from_hf_config({**config, "rope_theta": 5e5})
    assert architecture.head_dim == SCRATCH.head_dim
    assert architecture.rope_theta == 5e5
    assert architecture.num_query_groups == SCRATCH.num_attention_heads


def test_directory_without_a_config_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no config\.json"):
        load_hf_config(HuggingFaceModelSpec(type="huggingface", path=str(tmp_path)))
    (tmp_path / "config.json").write_text(json.dumps(SCRATCH.hf_config()))
    assert load_hf_config(HuggingFaceModelSpec(type="huggingface", path=str(tmp_path))) == SCRATCH.hf_config()
