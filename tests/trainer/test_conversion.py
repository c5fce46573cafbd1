from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.trainer import factories
from trainer.architecture import Architecture, Family
from trainer.conversion import shard_stage, stage_tensors, unshard_stage
from trainer.initial_weights import initial_weights

SCRATCH = Architecture.from_scratch(factories.model_spec(num_layers=4))


@pytest.mark.parametrize("tp", [1, 2])
@pytest.mark.parametrize("pp", [1, 2, 4])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("family", list(Family))
def test_round_trip_is_exact_under_any_layout(family, biased, tied, tp, pp):
    architecture = replace(SCRATCH, family=family, tied_embeddings=tied, attention_bias=biased, mlp_bias=biased)
    torch.manual_seed(0)
    weights = {name: torch.randn(shape) for name, shape in architecture.tensor_shapes().items()}
    back: dict[str, torch.Tensor] = {}
    layers_per_stage = architecture.num_layers // pp
    for stage in range(pp):
        tensors = list(
            stage_tensors(
                architecture,
                layers=range(stage * layers_per_stage, (stage + 1) * layers_per_stage),
                is_first=stage == 0,
                is_last=stage == pp - 1,
            )
        )
        shards = [shard_stage(tensors, weights, tp_rank=rank, tp_size=tp) for rank in range(tp)]
        back |= unshard_stage(tensors, shards)
    assert back.keys() == weights.keys()
    assert all(torch.equal(back[name], weights[name]) for name in weights)


def test_vocabulary_is_padded_to_equal_shards_of_zeros():
    (embedding, *_) = stage_tensors(SCRATCH, layers=range(1), is_first=True, is_last=False)
    ones = {"model.embed_tokens.weight": torch.ones(301, 32)}
    shards = [shard_stage([embedding], ones, tp_rank=rank, tp_size=2)[embedding.name] for rank in range(2)]
    assert [tuple(shard.shape) for shard in shards] == [(151, 32), (151, 32)]
    assert shards[1][-1].count_nonzero() == 0
    assert shards[1][-2].count_nonzero() == 32


def test_queries_keys_and_values_are_interleaved_by_query_group():
    tensors = [
        tensor
        for tensor in stage_tensors(SCRATCH, layers=range(1), is_first=False, is_last=False)
        if "linear_qkv" in tensor.name
    ]
    first_mark = {"q": (0, 32), "k": (100, 16), "v": (200, 16)}
    marks = {
        f"model.layers.0.self_attn.{letter}_proj.weight": first + torch.arange(float(rows))[:, None]
        for letter, (first, rows) in first_mark.items()
    }
    fused = shard_stage(tensors, marks, tp_rank=0, tp_size=1)[tensors[0].name].flatten().tolist()
    first_group = [*range(16), *range(100, 108), *range(200, 208)]
    second_group = [*range(16, 32), *range(108, 116), *range(208, 216)]
    assert fused == [*first_group, *second_group]


def test_random_weights_depend_on_the_seed_alone():
    spec = factories.model_spec(num_layers=4)
    names = list(SCRATCH.tensor_shapes())
    one, same, other = (initial_weights(spec, SCRATCH, seed=seed, names=names) for seed in (1, 1, 2))
    some = initial_weights(spec, SCRATCH, seed=1, names=names[5:7])
    assert list(some) == names[5:7]
    assert all(torch.equal(one[name], same[name]) for name in names)
    assert all(torch.equal(one[name], some[name]) for name in some)
    assert not torch.equal(one[names[0]], other[names[0]])
    assert one["model.norm.weight"].unique().tolist() == [1.0]
    assert float(one[names[0]].std()) == pytest.approx(0.02, rel=0.05)
