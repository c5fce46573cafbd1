from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from tests.trainer import factories
from trainer.architecture import Architecture
from trainer.checkpoint_files import check_tensors, tensor_files
from trainer.contracts.model_spec import HuggingFaceModelSpec
from trainer.initial_weights import initial_weights

ARCHITECTURE = Architecture.from_scratch(factories.model_spec())


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in ARCHITECTURE.tensor_shapes().items()}


def test_whole_and_sharded_directories_read_alike(tmp_path):
    weights = tensors()
    names = list(weights)
    whole, sharded = tmp_path / "whole", tmp_path / "sharded"
    for directory in (whole, sharded):
        directory.mkdir()
    save_file(weights, whole / "model.safetensors")
    parts = {"a.safetensors": names[:7], "b.safetensors": names[7:]}
    for file, members in parts.items():
        save_file({name: weights[name] for name in members}, sharded / file)
    weight_map = {name: file for file, members in parts.items() for name in members}
    (sharded / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    for directory in (whole, sharded):
        check_tensors(directory, ARCHITECTURE)
        spec = HuggingFaceModelSpec(type="huggingface", path=str(directory))
        read = initial_weights(spec, ARCHITECTURE, seed=0, names=names)
        assert all(torch.equal(read[name], torch.from_numpy(weights[name])) for name in names)
        assert list(initial_weights(spec, ARCHITECTURE, seed=0, names=names[3:5])) == names[3:5]


def test_half_precision_becomes_float32(tmp_path):
    save_file({"model.norm.weight": np.ones(32, dtype=np.float16)}, tmp_path / "model.safetensors")
    spec = HuggingFaceModelSpec(type="huggingface", path=str(tmp_path))
    (tensor,) = initial_weights(spec, ARCHITECTURE, seed=0, names=["model.norm.weight"]).values()
    assert tensor.dtype is torch.float32


def test_second_copy_of_a_tied_head_is_ignored(tmp_path):
    weights = tensors()
    save_file({**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}, tmp_path / "model.safetensors")
    check_tensors(tmp_path, ARCHITECTURE)


def test_everything_wrong_is_named_at_once(tmp_path):
    weights = tensors()
    del weights["model.norm.weight"]
    weights["model.extra"] = np.zeros(1, dtype=np.float32)
    weights["model.embed_tokens.weight"] = np.zeros((5, 32), dtype=np.float32)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"missing model\.norm\.weight") as caught:
        check_tensors(tmp_path, ARCHITECTURE)
    assert "unexpected model.extra" in str(caught.value)
    assert "model.embed_tokens.weight has shape (5, 32), config.json says (301, 32)" in str(caught.value)


def test_long_lists_of_problems_are_cut(tmp_path):
    save_file({"other": np.zeros(1, dtype=np.float32)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"and \d+ more"):
        check_tensors(tmp_path, ARCHITECTURE)


def test_directory_without_tensors_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"neither model\.safetensors nor"):
        tensor_files(tmp_path)


def sharded(directory: Path) -> dict[str, str]:
    """Two files and an index; returns where each tensor is."""
    weights = tensors()
    names = list(weights)
    parts = {"a.safetensors": names[:7], "b.safetensors": names[7:]}
    for file, members in parts.items():
        save_file({name: weights[name] for name in members}, directory / file)
    weight_map = {name: file for file, members in parts.items() for name in members}
    write_index(directory, weight_map)
    return weight_map


def write_index(directory: Path, weight_map: object) -> None:
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def test_index_that_names_a_missing_file_is_refused(tmp_path):
    sharded(tmp_path)
    (tmp_path / "b.safetensors").unlink()
    with pytest.raises(ValueError, match=r"index\.json names b\.safetensors, which does not exist"):
        check_tensors(tmp_path, ARCHITECTURE)


def test_index_that_names_the_wrong_file_is_refused(tmp_path):
    weight_map = sharded(tmp_path)
    write_index(tmp_path, {**weight_map, "model.norm.weight": "a.safetensors"})
    with pytest.raises(ValueError, match=r"says that a\.safetensors holds model\.norm\.weight; it does not"):
        check_tensors(tmp_path, ARCHITECTURE)


def test_tensor_that_the_index_leaves_out_is_told(tmp_path):
    weight_map = sharded(tmp_path)
    del weight_map["model.norm.weight"]
    write_index(tmp_path, weight_map)
    with pytest.raises(
        ValueError, match=r"b\.safetensors holds model\.norm\.weight, which .*index\.json does not name"
    ):
        check_tensors(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("file", ["/etc/passwd", "../b.safetensors", "..", ".", "", "sub/b.safetensors"])
def test_index_that_leads_out_of_the_directory_is_refused(tmp_path, file):
    write_index(tmp_path, sharded(tmp_path) | {"model.norm.weight": file})
    with pytest.raises(ValueError, match="must name files of its own directory"):
        check_tensors(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("make", [Path.symlink_to, lambda path, _: path.symlink_to(path), lambda path, _: path.mkdir()])
def test_shard_that_is_no_file_is_told(tmp_path, make):
    sharded(tmp_path)
    (tmp_path / "b.safetensors").unlink()
    make(tmp_path / "b.safetensors", tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"index\.json names b\.safetensors, which does not exist"):
        check_tensors(tmp_path, ARCHITECTURE)


def test_links_are_followed_as_in_a_hub_cache(tmp_path):
    sharded(tmp_path)
    (tmp_path / "b.safetensors").rename(tmp_path / "blob")
    (tmp_path / "b.safetensors").symlink_to(tmp_path / "blob")
    check_tensors(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize(
    ("dtype", "told"), [(np.int64, "I64"), (np.bool_, "BOOL"), (np.uint8, "U8"), (np.float64, "F64")]
)
def test_numbers_that_are_no_weights_are_refused(tmp_path, dtype, told):
    weights = tensors()
    save_file({**weights, "model.norm.weight": np.ones(32, dtype=dtype)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=rf"model\.norm\.weight holds numbers of type {told}; supported are F32"):
        check_tensors(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused_when_they_are_read(tmp_path, number):
    weights = tensors()
    weights["model.norm.weight"][3] = number
    save_file(weights, tmp_path / "model.safetensors")
    spec = HuggingFaceModelSpec(type="huggingface", path=str(tmp_path))
    with pytest.raises(ValueError, match=r"NaN or infinite numbers in model\.norm\.weight"):
        initial_weights(spec, ARCHITECTURE, seed=0, names=list(weights))


@pytest.mark.parametrize("content", ["{", "[]", '{"metadata": {}}', '{"weight_map": ["a"]}'])
def test_damaged_index_is_refused(tmp_path, content):
    (tmp_path / "model.safetensors.index.json").write_text(content)
    with pytest.raises(ValueError, match=r"index\.json.*weight_map"):
        tensor_files(tmp_path)


@pytest.mark.parametrize("kept", [0, 5, 200, -7])
def test_truncated_file_is_refused_by_name(tmp_path, kept):
    save_file(tensors(), tmp_path / "model.safetensors")
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:kept])
    with pytest.raises(ValueError, match=r"model\.safetensors is cut short or is no safetensors file"):
        check_tensors(tmp_path, ARCHITECTURE)
