"""A run whose rank is killed while it writes a checkpoint goes on as if it had not, under its own layout and others.

Real ranks, most of them without Ray; what a driver sees of a rank's death is in `test_ray_trainer.py`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from tests.orchestrator.run_factories import checkpoint
from tests.trainer import factories
from tests.trainer.rank_pool import RankPool
from tests.trainer.reference_metrics import MEASURED
from trainer.contracts.loss_spec import SftLossSpec
from trainer.contracts.policy_trainer import StepRecord, TrainerError, Weights
from trainer.layout import RankLayout
from trainer.ray_trainer import RayPolicyTrainer
from trainer.shard import RankShard, make_shards
from trainer.step_report import merge_reports

pytestmark = pytest.mark.stack

# A large eps: Adam divides by the gradient's size, which would blow rounding up where it is near zero.
PHASE = factories.phase(SftLossSpec(), lr=1e-3, clip_grad=1.0, style="linear", warmup=4, decay=200)
PHASE = PHASE.model_copy(update={"optimizer": PHASE.optimizer.model_copy(update={"eps": 1e-3})})
NUM_SAMPLES, NUM_STEPS, SAVED_AFTER = 8, 12, 6
CUTS = {
    1: [[[4, 0, 2], [1, 7], [6, 3, 5]]],
    2: [[[4, 0, 2], [1], [6]], [[3, 5], [7], []]],
    4: [[[4, 0], [2]], [[1], [6]], [[3], []], [[5], [7]]],
}
WRITER: dict[str, Any] = {"dp": 4, "distributed_optimizer": True}
OTHERS: tuple[dict[str, Any], ...] = (
    {"dp": 2},
    {"tp": 2},
    {"tp": 2, "cp": 2, "sequence_parallel": True},
    {"pp": 2},
)


class Trained(NamedTuple):
    """What some steps came to."""

    records: list[StepRecord]
    weights: Weights


@pytest.fixture
def pool() -> Iterator[RankPool]:
    pool = RankPool()
    yield pool
    pool.close()


def test_a_killed_run_goes_on_as_if_it_had_not(pool: RankPool, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    straight = train(pool, WRITER, range(NUM_STEPS), save_to=store.begin(SAVED_AFTER))
    store.commit(SAVED_AFTER, checkpoint(SAVED_AFTER))
    die_while_saving(store.path(SAVED_AFTER), store.begin(NUM_STEPS))

    left = open_store(tmp_path).newest()
    assert left == store.path(SAVED_AFTER)
    again = train(pool, WRITER, range(SAVED_AFTER, NUM_STEPS), load_from=left)
    assert told(again) == told(straight)[SAVED_AFTER:]
    assert all(np.array_equal(again.weights[name], tensor) for name, tensor in straight.weights.items())
    for parallelism in OTHERS:
        other = train(pool, parallelism, range(SAVED_AFTER, NUM_STEPS), load_from=left)
        for found, wanted in zip(told(other), told(straight)[SAVED_AFTER:], strict=True):
            assert found == pytest.approx(wanted, rel=1e-5), parallelism
        assert factories.gradient_errors(other.weights, straight.weights)[""] <= 1e-5, parallelism


def open_store(directory: Path) -> CheckpointStore:
    return CheckpointStore(directory, keep_last=2, keep_every=None)


def told(trained: Trained) -> list[dict[str, float | None]]:
    """Everything that the clock and the layout leave the same, by step."""
    return [
        {name: metric.value for name, metric in record.metrics.items() if name not in MEASURED}
        | {"lr": record.lr, "before": record.lr_position_before, "after": record.lr_position_after}
        for record in trained.records
    ]


def train(
    pool: RankPool,
    parallelism: dict[str, Any],
    steps: range,
    *,
    load_from: Path | None = None,
    save_to: Path | None = None,
) -> Trained:
    spec = factories.trainer_spec(**parallelism)
    layout = RankLayout.of(spec.parallelism)
    cut = factories.schedule(CUTS[layout.dp])
    shards = [make_shards(samples_of(step), cut, loss=PHASE.loss, vocab_size=factories.VOCAB_SIZE) for step in steps]
    of_ranks = [[step[layout.dp_rank(rank)] for step in shards] for rank in range(layout.world_size)]
    answers = pool.run(spec, _train_on_rank, of_ranks, load_from, save_to)
    records = [merge_reports(reports, layout) for reports in zip(*(reports for reports, _ in answers), strict=True)]
    weights = {name: tensor for rank in layout.first_copy for name, tensor in answers[rank][1].items()}
    return Trained(records, weights)


def samples_of(step: int) -> list[Any]:
    return factories.samples(np.random.default_rng(step), NUM_SAMPLES)


def _train_on_rank(
    member: Any, rank: int, of_ranks: Sequence[Sequence[RankShard]], load_from: Path | None, save_to: Path | None
) -> Any:
    member.start_phase(PHASE)
    if load_from is not None:
        member.load(str(load_from))
    reports = []
    for k, shard in enumerate(of_ranks[rank], start=1):
        reports += member.train(shard)
        if save_to is not None and k == SAVED_AFTER:
            member.begin_save(str(save_to))
    member.finish_save()
    return reports, member.weights()


def die_while_saving(load_from: Path, directory: Path) -> None:
    """The disk takes nothing of what rank 0 writes, as a pipe without a reader does, until the rank is killed."""
    os.mkfifo(directory / "stage-0.safetensors")
    pool = RankPool()
    try:
        with pytest.raises((EOFError, ConnectionResetError)):
            pool.run(factories.trainer_spec(**WRITER), _save_and_die, load_from, directory)
    finally:
        for process in pool._processes:
            process.kill()


def _save_and_die(member: Any, rank: int, load_from: Path, directory: Path) -> None:
    member.start_phase(PHASE)
    member.load(str(load_from))
    member.begin_save(str(directory))
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_checkpoint_that_cannot_be_written_or_read_is_told(local_ray: object, tmp_path: Path) -> None:
    with started() as trainer:
        trainer.begin_save(str(tmp_path / "nowhere"))
        with pytest.raises(TrainerError, match="nowhere"):
            trainer.finish_save()
    with started() as trainer, pytest.raises(TrainerError, match=r"trainer\.json cannot be read"):
        trainer.load(str(tmp_path))


@contextmanager
def started() -> Iterator[RayPolicyTrainer]:
    trainer = RayPolicyTrainer(factories.trainer_spec(dp=2), collective_timeout_s=30)
    try:
        trainer.start_phase(PHASE)
        yield trainer
    finally:
        trainer.close()
