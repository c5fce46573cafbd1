"""An exported checkpoint is a model that transformers loads, with the trained weights bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.trainer import factories
from trainer.architecture import load_hf_config
from trainer.contracts.loss_spec import SftLossSpec
from trainer.export import export_checkpoint, main

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")


@pytest.fixture
def checkpoint(lone_rank, tmp_path: Path) -> Path:
    directory = tmp_path / "step-00000001"
    directory.mkdir()
    lone_rank.start_phase(factories.phase(SftLossSpec(), lr=1e-2))
    samples = factories.samples(np.random.default_rng(1), 4)
    factories.train_alone(lone_rank, samples, factories.schedule([[[0, 1, 2, 3]]]))
    lone_rank.begin_save(str(directory))
    lone_rank.finish_save()
    (directory / "config.json").write_text(json.dumps(dict(load_hf_config(factories.model_spec()))))
    (directory / "tokenizer.json").write_text("{}")
    return directory


def test_transformers_loads_it_and_answers_as_the_trained_model_does(lone_rank, checkpoint, tmp_path):
    num_parameters = export_checkpoint(checkpoint, tmp_path / "model")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    trained = lone_rank.weights()
    assert num_parameters == sum(tensor.size for tensor in trained.values())
    loaded = model.state_dict()
    assert all(np.array_equal(tensor, loaded[name].numpy()) for name, tensor in trained.items())
    reference = factories.reference_model(load_hf_config(factories.model_spec()), trained)
    prompt = torch.tensor([[5, 6, 7, 8]])
    greedy = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(model.generate(prompt, **greedy), reference.generate(prompt, **greedy))
    assert (tmp_path / "model" / "tokenizer.json").read_text() == "{}"
    assert not (tmp_path / "model" / "trainer.json").exists()


def test_what_is_there_is_never_overwritten(checkpoint, tmp_path):
    target = tmp_path / "model"
    export_checkpoint(checkpoint, target)
    before = (target / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match="exists and is not an empty directory"):
        export_checkpoint(checkpoint, target)
    assert (target / "model.safetensors").read_bytes() == before


def test_a_directory_that_is_no_checkpoint_is_told(tmp_path):
    with pytest.raises(ValueError, match="holds no weights"):
        export_checkpoint(tmp_path, tmp_path / "model")
    assert main([str(tmp_path), str(tmp_path / "model")]) == 2
    assert not (tmp_path / "model").exists()
