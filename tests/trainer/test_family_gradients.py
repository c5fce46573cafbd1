"""Every family's gradient, biases and untied heads too, under layouts that split them: as a plain model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer import factories
from tests.trainer.rank_pool import RankPool
from tests.trainer.test_hugging_face_parity import BASE, MODELS, pool, random_model
from trainer.contracts.loss_spec import ClippedLossSpec
from trainer.contracts.model_spec import HuggingFaceModelSpec
from trainer.layout import RankLayout
from trainer.shard import make_shards
from trainer.step_report import merge_reports

__all__ = ["pool"]

pytestmark = pytest.mark.stack

LAYOUTS: tuple[dict[str, Any], ...] = (
    {"tp": 2, "sequence_parallel": True, "distributed_optimizer": True, "dp": 2},
    {"tp": 2, "pp": 2, "sequence_parallel": True},
    {"pp": 2, "vpp": 2, "cp": 2},
)
CUTS = {1: [[[3, 0], [5, 1], [2], [4]]], 2: [[[3, 0], [5]], [[1, 2, 4], []]]}
PHASE = factories.phase(ClippedLossSpec(entropy_coef=0.01), warmup=1000)


@pytest.mark.parametrize("name", ["qwen3, untied, biases", "qwen2, untied, yarn", "llama, untied, biases, linear"])
def test_gradients_equal_those_of_transformers(tmp_path: Path, pool: RankPool, name: str) -> None:
    model = random_model(replace(BASE, **MODELS[name]))
    model.save_pretrained(tmp_path)
    rng = np.random.default_rng(7)
    samples = factories.samples(rng, 5)
    # A sample of one token has nothing to predict.
    samples.insert(2, factories.sample(rng, prompt=1, response=0))
    expected = factories.reference_step(model, samples, PHASE.loss)
    for parallelism in LAYOUTS:
        source = HuggingFaceModelSpec(type="huggingface", path=str(tmp_path))
        spec = factories.trainer_spec(model=source, **parallelism)
        layout = RankLayout.of(spec.parallelism)
        cut = factories.schedule(CUTS[layout.dp])
        shards = make_shards(samples, cut, loss=PHASE.loss, vocab_size=factories.VOCAB_SIZE)
        of_ranks = [shards[layout.dp_rank(rank)] for rank in range(layout.world_size)]
        answers = pool.run(spec, _train_on_rank, of_ranks)
        found = {name: tensor for rank in layout.first_copy for name, tensor in answers[rank][1].items()}
        errors = factories.gradient_errors(found, expected.gradients)
        assert max(errors.values()) <= 1e-5, (parallelism, max(errors, key=errors.__getitem__), errors)
        record = merge_reports([answer[0] for answer in answers], layout)
        assert record.metrics["train/grad_norm"].value == pytest.approx(expected.grad_norm, rel=1e-5)
        assert record.metrics["train/loss"].value == pytest.approx(expected.loss, rel=1e-5)
        assert record.noise is not None
        if layout.dp == 1:
            assert record.noise.rank_sq_norms == (pytest.approx(expected.grad_norm**2, rel=1e-5),)


def _train_on_rank(member: Any, rank: int, of_ranks: Sequence[Any]) -> tuple[Any, Any]:
    member.start_phase(PHASE.model_copy(update={"measure_noise": True}))
    (report,) = member.train(of_ranks[rank])
    return report, member.gradients()
