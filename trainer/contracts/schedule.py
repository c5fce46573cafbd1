"""Which sample goes to which data-parallel rank and micro-batch: the plan of one or more steps, and its invariants.

`orchestrator/schedule.py` builds it, the trainer follows it, the server checks it again when a step arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from trainer.contracts.certificate import Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSchedule:
    """One step. `micro_batches[dp_rank][k]` holds the sample indices of the rank's k-th micro-batch; empty: a dummy.

    Indices count within the step, from 0 to global_batch_size − 1, and point into `certificate.sample_ids` too.
    """

    micro_batches: tuple[tuple[tuple[int, ...], ...], ...]
    certificate: Certificate

    @property
    def dp_size(self) -> int:
        return len(self.micro_batches)

    @property
    def global_batch_size(self) -> int:
        """Number of samples over all data-parallel ranks."""
        return sum(len(micro_batch) for rank in self.micro_batches for micro_batch in rank)

    @property
    def num_microbatches(self) -> int:
        """Micro-batches of each rank, dummies included."""
        return len(self.micro_batches[0])

    @property
    def num_dummies(self) -> int:
        return sum(not micro_batch for rank in self.micro_batches for micro_batch in rank)

    def over_cap(self, lengths: Sequence[int], token_cap: int) -> int:
        """Number of micro-batches above the cap, given the token count of each sample."""
        loads = (sum(lengths[i] for i in micro_batch) for rank in self.micro_batches for micro_batch in rank)
        return sum(load > token_cap for load in loads)


@dataclass(frozen=True, slots=True, kw_only=True)
class DpSchedule:
    """The steps of one iteration, in the form that the trainer's ranks take.

    partitions[dp_rank]           sample indices of the iteration in the order in which the rank trains them
    micro_batch_indices[dp_rank]  per micro-batch, over all steps, indices into the rank's partition; empty: a dummy
    num_microbatches[step]        micro-batches of each rank in that step, the same on every rank
    global_batch_sizes[step]      samples of that step over all ranks
    certificates[step]            the exact loss weights

    Two ranks, steps of 3 and 1 samples:

        partitions          ((2, 3), (0, 1))
        micro_batch_indices (((0,), (1,)), ((0, 1), ()))
        num_microbatches    (1, 1)
        global_batch_sizes  (3, 1)
    """

    partitions: tuple[tuple[int, ...], ...]
    micro_batch_indices: tuple[tuple[tuple[int, ...], ...], ...]
    num_microbatches: tuple[int, ...]
    global_batch_sizes: tuple[int, ...]
    certificates: tuple[Certificate, ...]

    def __post_init__(self) -> None:
        if len(self.partitions) != len(self.micro_batch_indices):
            raise ValueError("partitions and micro_batch_indices must have one entry per data-parallel rank")
        if not len(self.num_microbatches) == len(self.global_batch_sizes) == len(self.certificates):
            raise ValueError("num_microbatches, global_batch_sizes and certificates must have one entry per step")

    @property
    def dp_size(self) -> int:
        return len(self.partitions)

    @property
    def num_steps(self) -> int:
        return len(self.global_batch_sizes)

    def step_samples(self, step: int) -> tuple[int, ...]:
        """The iteration's sample indices of one step, ascending: the order of its certificate."""
        first, end = self._micro_batch_range(step)
        return tuple(
            sorted(
                partition[i]
                for partition, micro_batches in zip(self.partitions, self.micro_batch_indices, strict=True)
                for i in chain.from_iterable(micro_batches[first:end])
            )
        )

    def step(self, step: int) -> StepSchedule:
        """One step by itself, its samples renumbered from 0 in ascending order."""
        first, end = self._micro_batch_range(step)
        position = {sample: i for i, sample in enumerate(self.step_samples(step))}
        return StepSchedule(
            micro_batches=tuple(
                tuple(tuple(position[partition[i]] for i in micro_batch) for micro_batch in micro_batches[first:end])
                for partition, micro_batches in zip(self.partitions, self.micro_batch_indices, strict=True)
            ),
            certificate=self.certificates[step],
        )

    def _micro_batch_range(self, step: int) -> tuple[int, int]:
        first = sum(self.num_microbatches[:step])
        return first, first + self.num_microbatches[step]


def step_schedule_problems(
    schedule: StepSchedule,
    *,
    lengths: Sequence[int],
    token_cap: int | None,
    micro_batch_size: int | None = None,
    count_multiple: int = 1,
) -> list[str]:
    """Every invariant that one step breaks, a sentence each; an empty list means that it holds.

    lengths: tokens of each sample, by its index within the step.
    token_cap: most tokens of a micro-batch of several samples; None where micro-batches are cut by count.
    micro_batch_size: most samples of a micro-batch; None where they are cut by tokens.
    count_multiple: what the micro-batches of a rank must be a multiple of: the group of an interleaved pipeline.
    """
    problems = _count_problems(schedule, count_multiple)
    placed = sorted(i for rank in schedule.micro_batches for micro_batch in rank for i in micro_batch)
    if placed != list(range(len(lengths))):
        problems.append(_misplaced(placed, len(lengths)))
    if len(schedule.certificate.sample_ids) != len(lengths):
        problems.append(f"the certificate weighs {len(schedule.certificate.sample_ids)} samples, not {len(lengths)}")
    if (problem := schedule.certificate.problem()) is not None:
        problems.append(f"certificate: {problem}")
    if token_cap is not None:
        problems.extend(_cap_problems(schedule, lengths, token_cap))
    if micro_batch_size is not None:
        problems.extend(_size_problems(schedule, micro_batch_size))
    return problems


def dp_schedule_problems(
    schedule: DpSchedule,
    *,
    lengths: Sequence[int],
    token_cap: int | None,
    micro_batch_size: int | None = None,
    count_multiple: int = 1,
) -> list[str]:
    """Every invariant that a whole iteration breaks, a sentence each; see `step_schedule_problems`.

    lengths: tokens of each sample, by its index within the iteration.
    """
    problems: list[str] = []
    num_microbatches = sum(schedule.num_microbatches)
    for rank, (partition, micro_batches) in enumerate(
        zip(schedule.partitions, schedule.micro_batch_indices, strict=True)
    ):
        if len(micro_batches) != num_microbatches:
            problems.append(f"rank {rank} has {len(micro_batches)} micro-batches, the steps need {num_microbatches}")
        if list(chain.from_iterable(micro_batches)) != list(range(len(partition))):
            problems.append(f"the micro-batches of rank {rank} do not tile its partition")
    placed = sorted(chain.from_iterable(schedule.partitions))
    if placed != list(range(len(lengths))):
        problems.append(_misplaced(placed, len(lengths)))
    if problems:
        return problems
    for k in range(schedule.num_steps):
        step, samples = schedule.step(k), schedule.step_samples(k)
        if step.global_batch_size != schedule.global_batch_sizes[k]:
            problems.append(
                f"step {k} holds {step.global_batch_size} samples, global_batch_sizes says "
                f"{schedule.global_batch_sizes[k]}"
            )
        found = step_schedule_problems(
            step,
            lengths=[lengths[i] for i in samples],
            token_cap=token_cap,
            micro_batch_size=micro_batch_size,
            count_multiple=count_multiple,
        )
        problems.extend(f"step {k}: {problem}" for problem in found)
    return problems


def _misplaced(placed: Sequence[int], num_samples: int) -> str:
    twice = sorted({a for a, b in pairwise(placed) if a == b})
    missing = sorted(set(range(num_samples)) - set(placed))
    unknown = sorted(set(placed) - set(range(num_samples)))
    return f"each sample must be placed exactly once: twice {twice}, missing {missing}, unknown {unknown}"


def _count_problems(schedule: StepSchedule, count_multiple: int) -> list[str]:
    counts = sorted({len(rank) for rank in schedule.micro_batches})
    if len(counts) != 1:
        return [f"ranks run different numbers of micro-batches: {counts}"]
    if counts[0] % count_multiple:
        return [f"{counts[0]} micro-batches on each rank are not a multiple of {count_multiple}, the pipeline's group"]
    return []


def _size_problems(schedule: StepSchedule, micro_batch_size: int) -> list[str]:
    return [
        f"rank {rank}, micro-batch {k}: {len(micro_batch)} samples exceed micro_batch_size={micro_batch_size}"
        for rank, micro_batches in enumerate(schedule.micro_batches)
        for k, micro_batch in enumerate(micro_batches)
        if len(micro_batch) > micro_batch_size
    ]


def _cap_problems(schedule: StepSchedule, lengths: Sequence[int], token_cap: int) -> list[str]:
    problems = []
    for rank, micro_batches in enumerate(schedule.micro_batches):
        for k, micro_batch in enumerate(micro_batches):
            tokens = sum(lengths[i] for i in micro_batch if i < len(lengths))
            # A sample longer than the cap has to go somewhere: alone it may exceed it, and is counted.
            if len(micro_batch) > 1 and tokens > token_cap:
                problems.append(f"rank {rank}, micro-batch {k}: {tokens} tokens exceed token_cap={token_cap}")
    return problems
