"""One fixed step under many layouts: the same loss, metrics, gradient and learning rate as in one process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify, loss_scales
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from tests.trainer import factories
from tests.trainer.random_layouts import Case, random_cases
from tests.trainer.rank_pool import RankPool
from trainer.architecture import load_hf_config
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    KlTermSpec,
    LossSpec,
    SftLossSpec,
    TisSpec,
)
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.contracts.policy_trainer import StepRecord
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.layout import RankLayout
from trainer.shard import make_shards
from trainer.step_report import merge_reports

pytestmark = pytest.mark.stack

NUM_LAYOUTS = 28
NUM_SAMPLES = 14
TOLERANCE = 1e-5

MODEL = factories.model_spec(num_layers=8, num_query_groups=4)
COSTS = CostModel.from_hf_config(load_hf_config(MODEL))

OBJECTIVES: list[tuple[LossAggregation, LossSpec]] = [
    (LossAggregation.TOKEN_MEAN, SftLossSpec()),
    (LossAggregation.SAMPLE_MEAN, GspoLossSpec(temperature=0.8)),
    (
        LossAggregation.ROLLOUT_MEAN,
        ClippedLossSpec(temperature=0.8, entropy_coef=0.01, kl=KlTermSpec(coef=0.1), correction=TisSpec(type="tis")),
    ),
    (LossAggregation.PROMPT_MEAN, CispoLossSpec()),
    (LossAggregation.CONSTANT, ClippedLossSpec()),
]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a layout made of the step."""

    record: StepRecord
    lr_after: float
    weights: dict[str, np.ndarray]
    """Before the step."""
    gradients: dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Step:
    """The fixed step under one objective, and what one process finds for it."""

    loss: LossSpec
    aggregation: LossAggregation
    samples: Sequence[TrainSample]
    expected: factories.Reference
    """By a transformers model, sample by sample and token by token."""
    alone: Outcome
    """By the trainer with one rank and one micro-batch: for metrics of which the reference has none."""


@pytest.fixture(scope="module")
def pool() -> Iterator[RankPool]:
    pool = RankPool()
    yield pool
    pool.close()


@pytest.mark.timeout(1200)
def test_one_step_is_the_same_under_every_layout(pool: RankPool, capsys: pytest.CaptureFixture[str]) -> None:
    steps = _steps(pool)
    cases = random_cases(NUM_LAYOUTS, seed=9)
    _check_that_every_kind_is_there(cases)
    lines, worst_of_all = [], 0.0
    for i, case in enumerate(cases):
        step = steps[i % len(steps)]
        differences = _differences(_run(pool, case, step), step)
        worst = max(differences, key=differences.__getitem__)
        lines.append(f"{case}; {step.loss.type}, {step.aggregation}: {differences[worst]:.1e} ({worst})")
        worst_of_all = max(worst_of_all, differences[worst])
        assert differences[worst] <= TOLERANCE, lines[-1]
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + f"\nworst relative difference: {worst_of_all:.1e}\n")


def _check_that_every_kind_is_there(cases: Sequence[Case]) -> None:
    for name, field in ParallelismSpec.model_fields.items():
        if name != "num_ranks":
            assert sum(getattr(case.parallelism, name) != field.default for case in cases) >= 3, name
    assert len({str(case.parallelism) for case in cases}) == len(cases) >= 24
    assert {1, 3} <= {case.parallelism.dp for case in cases}
    for option in ("token_cap", "micro_batch_size"):
        assert sum(option in case.cut for case in cases) >= 3, option


def _steps(pool: RankPool) -> list[Step]:
    steps = []
    model = None
    for aggregation, loss in OBJECTIVES:
        samples = _samples(aggregation)
        whole = factories.schedule([[list(range(NUM_SAMPLES))]])
        alone = _train(pool, ParallelismSpec(), samples, whole, loss)
        model = model or factories.reference_model(load_hf_config(MODEL), alone.weights)
        expected = factories.reference_step(model, samples, loss)
        steps.append(Step(loss=loss, aggregation=aggregation, samples=samples, expected=expected, alone=alone))
    return steps


def _samples(aggregation: LossAggregation) -> list[TrainSample]:
    """Of 2 to 46 tokens, one of them without loss; some rollouts have two samples, prompts have several rollouts."""
    # With these draws no objective's loss cancels out, which would blow rounding up.
    rng = np.random.default_rng(4)
    samples = [
        factories.sample(rng, prompt=int(rng.integers(1, 10)), response=int(rng.integers(1, 36)))
        for _ in range(NUM_SAMPLES - 1)
    ]
    samples.append(factories.sample(rng, prompt=9, response=0))
    engine, reference = (
        [np.where(one.loss_mask, rng.normal(-5.7, 0.3, one.num_tokens), 0.0).astype(np.float32) for one in samples]
        for _ in range(2)
    )
    shapes = _shapes(samples)
    scales = loss_scales(certify(shapes, loss_aggregation=aggregation, constant_tokens=40), shapes)
    return [
        replace(one, loss_scale=scale, engine_log_probs=by_engine, reference_log_probs=by_reference)
        for one, scale, by_engine, by_reference in zip(samples, scales, engine, reference, strict=True)
    ]


def _shapes(samples: Sequence[TrainSample]) -> list[SampleShape]:
    return [
        SampleShape(
            sample_id=f"s{i}",
            rollout_id=f"r{i * 2 // 3}",
            group_id=f"g{i // 4}",
            num_tokens=one.num_tokens,
            num_loss_tokens=one.num_loss_tokens,
        )
        for i, one in enumerate(samples)
    ]


def _run(pool: RankPool, case: Case, step: Step) -> Outcome:
    """In an order of the samples of its own too."""
    rng = np.random.default_rng(case.seed)
    samples = [step.samples[i] for i in rng.permutation(NUM_SAMPLES)]
    parallelism = case.parallelism
    geometry = StepGeometry(
        dp_size=parallelism.dp,
        cp=parallelism.cp,
        pp=parallelism.pp,
        vpp=parallelism.vpp,
        **(case.cut or {"token_cap": 1}),
    )
    if case.cut:
        schedule = build_dp_schedule(
            _shapes(samples),
            [range(NUM_SAMPLES)],
            geometry=geometry,
            cost_model=COSTS,
            loss_aggregation=LossAggregation.SAMPLE_MEAN,
        )
    else:
        cut = factories.random_step(rng, NUM_SAMPLES, dp=parallelism.dp)
        missing = -len(cut[0]) % geometry.count_multiple
        schedule = factories.schedule([rank + [[]] * missing for rank in cut])
    return _train(pool, parallelism, samples, schedule, step.loss)


def _train(
    pool: RankPool,
    parallelism: ParallelismSpec,
    samples: Sequence[TrainSample],
    schedule: DpSchedule,
    loss: LossSpec,
) -> Outcome:
    spec = factories.trainer_spec(model=MODEL, **parallelism.model_dump())
    layout = RankLayout.of(parallelism)
    shards = make_shards(samples, schedule, loss=loss, vocab_size=factories.VOCAB_SIZE)
    of_ranks = [shards[layout.dp_rank(rank)] for rank in range(layout.world_size)]
    # Where gradients are added up while they are computed, a rank's own share cannot be measured.
    phase = factories.phase(loss, warmup=1000).model_copy(update={"measure_noise": not parallelism.overlap_grad_reduce})
    answers = pool.run(spec, _train_on_rank, phase, of_ranks)
    (reports,) = zip(*[answer[0] for answer in answers], strict=True)
    lrs = {answer[1] for answer in answers}
    assert len(lrs) == 1

    def whole(part: int) -> dict[str, np.ndarray]:
        return {name: tensor for rank in layout.first_copy for name, tensor in answers[rank][part].items()}

    return Outcome(record=merge_reports(reports, layout), lr_after=lrs.pop(), weights=whole(2), gradients=whole(3))


def _train_on_rank(member: Any, rank: int, phase: Any, shards: Sequence[Any]) -> tuple[Any, ...]:
    weights = member.weights()
    # A warm-up from 0: the step moves no weight, and its gradient is that of the weights before.
    member.start_phase(phase)
    reports = member.train(shards[rank])
    return reports, member._state.lr_schedule.lr, weights, member.gradients()


def _differences(found: Outcome, step: Step) -> dict[str, float]:
    """Relative, by what differs: the gradient as a whole is ""."""
    expected, alone = step.expected, step.alone.record.metrics
    record = found.record
    assert (found.lr_after, record.lr_position_after) == (step.alone.lr_after, NUM_SAMPLES)
    differences = factories.gradient_errors(found.gradients, expected.gradients)
    metrics = {name: metric for name, metric in record.metrics.items() if name.startswith("train/")}
    assert metrics.keys() == {name for name in alone if name.startswith("train/")}
    for name, metric in metrics.items():
        assert (metric.reduction, metric.count) == (alone[name].reduction, alone[name].count), name
        differences[name] = _relative(metric.value, alone[name].value)
    if record.noise is not None and len(record.noise.rank_sq_norms) == 1:
        differences["a single rank's share"] = _relative(record.noise.rank_sq_norms[0], expected.grad_norm**2)
    for name, value in (
        ("train/loss", expected.loss),
        ("train/grad_norm", expected.grad_norm),
        ("train/entropy", expected.entropy),
    ):
        differences[f"{name} by transformers"] = _relative(metrics[name].value, value)
    return differences


def _relative(found: float | None, expected: float | None) -> float:
    assert found is not None
    assert expected is not None
    return abs(found - expected) / max(abs(expected), 1e-12)
