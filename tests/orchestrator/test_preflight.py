from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.preflight import find_too_large, find_wrong, preflight
from tests.orchestrator.run_factories import run_spec
from trainer.architecture import Architecture

EXAMPLES = Path(__file__).parents[2] / "examples"


CONFIG = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "num_hidden_layers": 4,
    "hidden_size": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 301,
    "tie_word_embeddings": True,
}


def with_model(path: Path, **parallelism: object) -> RunSpec:
    return run_spec(model={"type": "huggingface", "path": str(path)}, parallelism=parallelism)


def with_task(**task: object) -> RunSpec:
    data = {"type": "reasoning_gym", "tasks": [task], "rollout_batch_size": 4}
    return run_spec(data=data)


def complete_model(path: Path) -> Path:
    (path / "config.json").write_text(json.dumps(CONFIG))
    shapes = Architecture.from_hf_config(CONFIG).tensor_shapes()
    save_file({name: np.zeros(shape, np.float32) for name, shape in shapes.items()}, path / "model.safetensors")
    (path / "tokenizer.json").write_text("{}")
    return path


def test_a_spec_that_can_start_has_no_problems(tmp_path: Path) -> None:
    assert preflight(run_spec()) == []
    assert preflight(with_model(complete_model(tmp_path))) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_can_start(path: Path) -> None:
    assert preflight(RunSpec.model_validate(yaml.safe_load(path.read_text(encoding="utf8")))) == []


def test_a_missing_model_directory_is_named(tmp_path: Path) -> None:
    [(field, message)] = preflight(with_model(tmp_path / "nowhere"))
    assert field == "model.path"
    assert "nowhere is not a directory" in message


@pytest.mark.parametrize(
    ("missing", "told"),
    [("config.json", "config.json"), ("model.safetensors", ".safetensors"), ("tokenizer.json", "tokenizer")],
)
def test_each_missing_model_file_is_named(tmp_path: Path, missing: str, told: str) -> None:
    (complete_model(tmp_path) / missing).unlink()
    [(field, message)] = preflight(with_model(tmp_path))
    assert field == "model.path"
    assert told in message


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_config_that_says_no_model_is_told(tmp_path: Path, text: str) -> None:
    (complete_model(tmp_path) / "config.json").write_text(text)
    [(field, message)] = preflight(with_model(tmp_path))
    assert field == "model.path"
    assert "config.json" in message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM"),
        ({"num_hidden_layers": None}, "num_hidden_layers missing"),
        ({"hidden_size": 16.0}, "hidden_size=16.0 must be a positive integer"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps=nan must be a positive number"),
        ({"num_key_value_heads": 3}, "num_attention_heads=4 is not a multiple of num_key_value_heads=3"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rope_scaling.factor is missing"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "rope_type='dynamic' is not supported"),
        ({"use_sliding_window": True}, "sliding-window attention"),
        ({"quantization_config": {"bits": 4}}, "quantization_config is not supported"),
    ],
)
def test_a_model_that_cannot_be_trained_is_told(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    (complete_model(tmp_path) / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    [(field, message)] = preflight(with_model(tmp_path))
    assert field == "model.path"
    assert told in message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"num_hidden_layers": 5}, "missing model.layers.4."),
        ({"num_hidden_layers": 3}, "unexpected model.layers.3."),
        ({"intermediate_size": 64}, "mlp.gate_proj.weight has shape (48, 16), config.json says (64, 16)"),
        ({"tie_word_embeddings": False}, "missing lm_head.weight"),
    ],
)
def test_weights_that_are_not_those_of_the_config_are_told(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    (complete_model(tmp_path) / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    [(field, message)] = preflight(with_model(tmp_path))
    assert field == "model.path"
    assert told in message


def test_a_weight_file_that_was_cut_short_is_told(tmp_path: Path) -> None:
    weights = complete_model(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    [(field, message)] = preflight(with_model(tmp_path))
    assert (field, str(weights) in message, "cut short" in message) == ("model.path", True, True)


def test_a_shard_that_the_index_names_and_nobody_copied_is_told(tmp_path: Path) -> None:
    complete_model(tmp_path)
    names = Architecture.from_hf_config(CONFIG).tensor_shapes()
    index = {"weight_map": dict.fromkeys(names, "model.safetensors") | {"model.norm.weight": "two.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    [(field, message)] = preflight(with_model(tmp_path))
    assert (field, "two.safetensors, which does not exist" in message) == ("model.path", True)


@pytest.mark.parametrize(
    ("parallelism", "told"),
    [
        ({"tp": 4}, [("parallelism.tp", "num_query_groups=2")]),
        ({"pp": 3}, [("parallelism.pp", "num_layers=4")]),
        ({"pp": 2, "vpp": 4}, [("parallelism.pp", "num_layers=4"), ("parallelism.vpp", "num_layers=4")]),
    ],
)
def test_a_layout_that_cannot_hold_the_model_is_told(
    tmp_path: Path, parallelism: dict[str, object], told: list[tuple[str, str]]
) -> None:
    problems = preflight(with_model(complete_model(tmp_path), **parallelism))
    assert [field for field, _ in problems] == [field for field, _ in told]
    assert all(part in message for (_, message), (_, part) in zip(problems, told, strict=True))


def test_an_unknown_task_is_told_with_close_matches() -> None:
    [(field, message)] = preflight(with_task(name="spel_backward"))
    assert field == "data.tasks.0.name"
    assert "did you mean spell_backward" in message


@pytest.mark.parametrize(
    "config",
    [
        {"no_such_option": 1},
        {"min_word_len": 9, "max_word_len": 3},
        {"min_word_len": "four"},
        {"min_word_len": 90, "max_word_len": 99},
        {"seed": 3},
        {"size": 3},
    ],
)
def test_a_bad_task_config_is_told(config: dict[str, object]) -> None:
    [(field, message)] = preflight(with_task(name="spell_backward", config=config))
    assert field == "data.tasks.0.config"
    assert message


def test_a_task_without_answers_cannot_be_warmed_up_on() -> None:
    tasks = [{"name": "spell_backward"}, {"name": "rush_hour"}]
    spec = run_spec(data={"type": "reasoning_gym", "tasks": tasks, "rollout_batch_size": 4})
    [(field, message)] = preflight(spec)
    assert field == "data.tasks.1.name"
    assert "warm_start" in message
    assert preflight(spec.model_copy(update={"warm_start": None})) == []


def test_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, orchestrator.preflight; print([m for m in ('torch', 'ray', 'reasoning_gym') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_more_processes_than_the_machine_can_start_are_told() -> None:
    found = dict(preflight(run_spec(parallelism={"dp": 1_000_000})))
    assert "take at most" in found["parallelism.dp"]


@pytest.mark.parametrize("size", [{"hidden_size": 2**30}, {"num_layers": 10**9}])
def test_a_model_that_the_memory_cannot_hold_is_told(size: dict[str, int]) -> None:
    model = run_spec().model.model_dump() | size
    assert "GiB" in dict(preflight(run_spec(model=model)))["model.hidden_size"]


def test_what_is_too_large_for_this_machine_is_not_wrong() -> None:
    spec = run_spec(parallelism={"dp": 10_000})
    assert find_wrong(spec) == []
    assert [field for field, _ in find_too_large(spec)] == ["parallelism.dp"] == [field for field, _ in preflight(spec)]
