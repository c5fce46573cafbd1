from __future__ import annotations

import json
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
    ],
)
def test_what_the_model_cannot_do_is_refused_by_name(changes, told):
    with pytest.raises(ValueError, match=told):
        Architecture.from_hf_config({**SCRATCH.hf_config(), **changes})


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
