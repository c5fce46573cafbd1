from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from tests.trainer import factories
from trainer.contracts.loss_spec import ClippedLossSpec, LossSpec, SftLossSpec
from trainer.contracts.model_spec import ModelSpec
from trainer.contracts.optimizer_spec import LrScheduleSpec, OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.contracts.sample import TrainSample
from trainer.contracts.trainer_spec import TrainerSpec


def test_choices_are_told_apart_by_type():
    assert isinstance(TypeAdapter(LossSpec).validate_python({"type": "sft"}), SftLossSpec)
    assert isinstance(TypeAdapter(LossSpec).validate_python({"type": "clipped"}), ClippedLossSpec)
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        TypeAdapter(ModelSpec).validate_python({"type": "onnx"})


def test_spec_survives_json_and_refuses_unknown_fields():
    spec = factories.trainer_spec(dp=2)
    assert TrainerSpec.model_validate_json(spec.model_dump_json()) == spec
    with pytest.raises(ValidationError, match="global_batch_size"):
        OptimizerSpec.model_validate({"lr": 1.0, "global_batch_size": 8})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hidden_size": 30}, "hidden_size=30 is not a multiple of num_attention_heads=4"),
        ({"num_query_groups": 3}, "num_query_groups=3"),
    ],
)
def test_heads_must_divide(changes, told):
    with pytest.raises(ValidationError, match=told):
        factories.model_spec(**changes)


@pytest.mark.parametrize(
    ("layout", "told"),
    [({"tp": 4}, "num_query_groups"), ({"pp": 3}, "num_layers"), ({"tp": 3}, "num_attention_heads")],
)
def test_layout_must_fit_the_model(layout, told):
    with pytest.raises(ValidationError, match=told):
        factories.trainer_spec(**layout)


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ({"vpp": 2}, "needs a pipeline"),
        ({"sequence_parallel": True}, "needs tensor parallelism"),
        ({"overlap_param_gather": True, "overlap_grad_reduce": True}, "needs distributed_optimizer=true"),
    ],
)
def test_layout_options_need_what_they_build_on(layout, told):
    with pytest.raises(ValidationError, match=told):
        ParallelismSpec(**layout)


def test_ranks_must_be_filled():
    assert ParallelismSpec(dp=2, tp=2, num_ranks=4).world_size == 4
    assert ParallelismSpec(dp=2, cp=2, num_ranks=4).world_size == 4
    with pytest.raises(ValidationError, match="num_ranks=5"):
        ParallelismSpec(dp=2, num_ranks=5)
    with pytest.raises(ValidationError, match="= 2 but num_ranks=4"):
        ParallelismSpec(dp=2, num_ranks=4)


def test_decay_must_follow_the_warm_up():
    with pytest.raises(ValidationError, match="needs decay"):
        LrScheduleSpec(style="cosine")
    with pytest.raises(ValidationError, match="decay=10 must be greater than warmup=10"):
        LrScheduleSpec(style="cosine", warmup=10, decay=10)


def test_sample_arrays_must_agree():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="advantages has shape"):
        factories.sample(rng, advantages=np.zeros(2, dtype=np.float32))
    with pytest.raises(ValueError, match="nothing predicts token 0"):
        factories.sample(rng, prompt=0)
    with pytest.raises(ValueError, match="at least one token"):
        TrainSample(token_ids=np.empty(0, np.int64), loss_mask=np.empty(0, bool), loss_scale=0.0)
