"""What one data-parallel rank gets of an iteration: its own samples in flat arrays, and its micro-batches.

Message from `trainer/ray_trainer.py` (driver) to `trainer/rank.py` (every rank with that dp_rank). Flat arrays travel
through Ray without a copy per sample, and a micro-batch is a slice of them. Pure numpy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trainer.contracts.loss_spec import LossSpec, PolicyLossSpec
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule

ScalarT = TypeVar("ScalarT", bound=np.generic)
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutArrays:
    """What rollouts bring, token by token [T] as in `TrainSample`, each where the phase's loss reads it."""

    advantages: FloatArray | None = None
    old_log_probs: FloatArray | None = None
    engine_log_probs: FloatArray | None = None
    reference_log_probs: FloatArray | None = None

    def at(self, tokens: slice | npt.NDArray[np.int64]) -> RolloutArrays:
        """Some of the tokens."""
        return RolloutArrays(**{name: array[tokens] for name, array in self.given().items()})

    def given(self) -> dict[str, FloatArray]:
        """Those that are there, by name."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in arrays.items() if array is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleArrays:
    """Samples back to back: S samples, T tokens in all. Fields as in `TrainSample`."""

    lengths: npt.NDArray[np.int64]  # [S]
    token_ids: npt.NDArray[np.int64]  # [T]
    loss_mask: npt.NDArray[np.bool_]  # [T]
    loss_scales: FloatArray  # [S]
    rollout: RolloutArrays  # [T]

    @property
    def num_samples(self) -> int:
        return int(self.lengths.shape[0])

    @property
    def num_loss_tokens(self) -> int:
        return int(self.loss_mask.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class RankShard:
    """The part of a `DpSchedule` that concerns one dp_rank."""

    samples: SampleArrays
    micro_batch_sizes: tuple[int, ...]
    """Samples of each micro-batch over all steps, in order; 0 for a dummy."""
    num_microbatches: tuple[int, ...]
    global_batch_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if sum(self.micro_batch_sizes) != self.samples.num_samples:
            raise ValueError(f"micro-batches hold {sum(self.micro_batch_sizes)} of {self.samples.num_samples} samples")
        if len(self.micro_batch_sizes) != sum(self.num_microbatches):
            raise ValueError(f"{len(self.micro_batch_sizes)} micro-batches, not {sum(self.num_microbatches)}")
        if len(self.num_microbatches) != len(self.global_batch_sizes):
            raise ValueError("num_microbatches and global_batch_sizes must have one entry per step")

    def steps(self) -> Iterator[list[SampleArrays | None]]:
        """The micro-batches of each step; None for a dummy."""
        micro_batches = self._micro_batches()
        for count in self.num_microbatches:
            yield [next(micro_batches) for _ in range(count)]

    def _micro_batches(self) -> Iterator[SampleArrays | None]:
        sample_bounds = list(accumulate(self.micro_batch_sizes, initial=0))
        token_bounds = np.cumsum([0, *self.samples.lengths])
        for first, end in pairwise(sample_bounds):
            tokens = slice(int(token_bounds[first]), int(token_bounds[end]))
            yield _slice(self.samples, slice(first, end), tokens) if end > first else None


def needed_arrays(loss: LossSpec | None) -> tuple[str, ...]:
    """The names of the arrays that every sample must bring for this loss."""
    if not isinstance(loss, PolicyLossSpec):
        return ()
    names = ["advantages", "old_log_probs"]
    if loss.correction is not None:
        names.append("engine_log_probs")
    if loss.kl is not None:
        names.append("reference_log_probs")
    return tuple(names)


def make_shards(
    samples: Sequence[TrainSample], schedule: DpSchedule, *, loss: LossSpec | None, vocab_size: int
) -> tuple[RankShard, ...]:
    """Cut an iteration into one shard per dp_rank.

    loss: what will be trained on them; None where nothing is, but log-probs are asked for.

    Raises:
        ValueError: the micro-batches do not tile a partition, a sample lacks what the loss needs, or a token is not in
            the vocabulary.
    """
    names = _arrays_to_send(samples, loss)
    _check_token_ids(samples, vocab_size)
    return tuple(
        RankShard(
            samples=_join([samples[i] for i in partition], names),
            micro_batch_sizes=_micro_batch_sizes(dp_rank, partition, micro_batches),
            num_microbatches=schedule.num_microbatches,
            global_batch_sizes=schedule.global_batch_sizes,
        )
        for dp_rank, (partition, micro_batches) in enumerate(
            zip(schedule.partitions, schedule.micro_batch_indices, strict=True)
        )
    )


def _check_token_ids(samples: Sequence[TrainSample], vocab_size: int) -> None:
    # Under tensor parallelism Megatron's embedding takes an id that no rank holds for a zero vector.
    smallest = min((int(sample.token_ids.min()) for sample in samples), default=0)
    largest = max((int(sample.token_ids.max()) for sample in samples), default=0)
    if smallest < 0 or largest >= vocab_size:
        raise ValueError(f"token ids must lie in [0, {vocab_size}); found {smallest if smallest < 0 else largest}")


def _micro_batch_sizes(
    dp_rank: int, partition: Sequence[int], micro_batches: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    if list(chain.from_iterable(micro_batches)) != list(range(len(partition))):
        raise ValueError(f"micro_batch_indices[{dp_rank}] must tile partitions[{dp_rank}] in order")
    return tuple(len(micro_batch) for micro_batch in micro_batches)


def _arrays_to_send(samples: Sequence[TrainSample], loss: LossSpec | None) -> tuple[str, ...]:
    """What the loss needs, and the engine's log-probs where they are there: to be compared with the trainer's."""
    names = needed_arrays(loss)
    for name in names:
        if missing := sum(getattr(sample, name) is None for sample in samples):
            raise ValueError(f"this phase's loss needs {name} on every sample; {missing} samples have none")
    has_engine = bool(names) and all(sample.engine_log_probs is not None for sample in samples)
    return tuple(dict.fromkeys((*names, "engine_log_probs"))) if has_engine else names


def _join(samples: Sequence[TrainSample], names: Sequence[str]) -> SampleArrays:
    return SampleArrays(
        lengths=np.array([sample.num_tokens for sample in samples], dtype=np.int64),
        token_ids=_concatenate([sample.token_ids for sample in samples], np.int64),
        loss_mask=_concatenate([sample.loss_mask for sample in samples], np.bool_),
        loss_scales=np.array([sample.loss_scale for sample in samples], dtype=np.float32),
        rollout=RolloutArrays(
            **{name: _concatenate([getattr(sample, name) for sample in samples], np.float32) for name in names}
        ),
    )


def _concatenate(arrays: Sequence[npt.NDArray[ScalarT]], dtype: type[ScalarT]) -> npt.NDArray[ScalarT]:
    return np.concatenate(arrays, dtype=dtype) if arrays else np.empty(0, dtype=dtype)


def _slice(arrays: SampleArrays, samples: slice, tokens: slice) -> SampleArrays:
    return SampleArrays(
        lengths=arrays.lengths[samples],
        token_ids=arrays.token_ids[tokens],
        loss_mask=arrays.loss_mask[tokens],
        loss_scales=arrays.loss_scales[samples],
        rollout=arrays.rollout.at(tokens),
    )
