from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engines.generator import Generator
from tests.orchestrator.tiny_model import EOS, HF_CONFIG, PAD, hf_model, hf_weights, prompts


def generator() -> Generator:
    return Generator(HF_CONFIG, eos_id=EOS, pad_id=PAD, num_threads=1)


def test_pushed_weights_are_used_from_then_on() -> None:
    made = generator()
    uniforms = np.random.default_rng(0).random((8, 6))
    outcomes = []
    for version, seed in enumerate((0, 1, 0)):
        made.set_weights(hf_weights(hf_model(seed)), version)
        completions = made.generate(prompts(8), uniforms, 1.0)
        assert {completion.policy_version for completion in completions} == {version}
        outcomes.append([completion.token_ids.tolist() for completion in completions])
    assert outcomes[0] == outcomes[2] != outcomes[1]


def test_a_completion_without_the_end_token_is_truncated() -> None:
    made = generator()
    made.set_weights(hf_weights(hf_model()), 0)
    for completion in made.generate(prompts(60), np.random.default_rng(0).random((60, 12)), 1.0):
        assert completion.truncated == (EOS not in completion.token_ids)


def test_it_does_not_generate_with_random_weights() -> None:
    with pytest.raises(RuntimeError, match="before weights are pushed"):
        generator().generate(prompts(1), np.zeros((1, 1)), 1.0)


@pytest.mark.parametrize("wrong", ["missing", "unknown", "shape"])
def test_weights_of_another_model_are_refused(wrong: str) -> None:
    weights = dict(hf_weights(hf_model()))
    name = "model.layers.0.self_attn.q_proj.weight"
    if wrong == "unknown":
        weights["model.layers.9.no_such.weight"] = weights[name]
    else:
        taken = weights.pop(name)
        if wrong == "shape":
            weights[name] = taken[:-1]
    with pytest.raises(ValueError, match=r"lack|does not have|has shape"):
        generator().set_weights(weights, 0)
