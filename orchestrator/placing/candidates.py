"""Ways to place a packed step on ranks, in the order in which they are worth refining. Called by `placement.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.contracts.schedule_spec import Packer
from orchestrator.geometry import StepGeometry
from orchestrator.placing.alignment import split_heaviest
from orchestrator.placing.distribution import distribute_evenly
from orchestrator.placing.leveling import level_out
from orchestrator.placing.micro_batch import MicroBatch, Ranks, SampleLoads, weigh
from orchestrator.placing.packing import first_fit, first_fit_decreasing

# With so few micro-batches a rank is rarely balanced by whole ones, and samples are dealt out next.
FEW_PER_RANK = 4
# How full ranks may get, at most, when samples are dealt to them: the fuller, the less likely they can be packed.
RANK_FILLINGS = (1.0, 0.97, 0.94, 0.91)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedStep:
    """A step's samples in micro-batches, not placed yet."""

    packed: Sequence[list[int]]
    """By the packer of the geometry."""
    count: int
    """Most micro-batches over all ranks; as many as there must be where dummies run."""
    loads: SampleLoads
    geometry: StepGeometry

    @property
    def moves_samples(self) -> bool:
        """Whether samples may change micro-batches: who packs in order of arrival wants neighbours together."""
        return self.geometry.packer is not Packer.FIRST_FIT

    @property
    def most_per_rank(self) -> int:
        """Where all ranks have equally many, that many."""
        return -(-self.count // self.geometry.dp_size)


def packed_samples(sizes: Sequence[int], geometry: StepGeometry) -> list[list[int]]:
    """Indices into `sizes` of each micro-batch."""
    pack = first_fit_decreasing if geometry.packer is Packer.FIRST_FIT_DECREASING else first_fit
    return pack(sizes, geometry.cap)


def candidates(step: PackedStep) -> Iterator[Ranks]:
    """Placements, the most promising first. Each has micro-batches of its own, for refinement changes them."""
    few, pipelined = step.most_per_rank <= FEW_PER_RANK, step.geometry.pp > 1
    for way in _ORDER[few, pipelined]:
        if (ranks := way(step)) is not None:
            yield ranks


def leveled(step: PackedStep) -> list[MicroBatch] | None:
    """The step in `count` micro-batches of about equal cost; None where the cap is in the way."""
    if not step.moves_samples:
        return None
    micro_batches = level_out(range(len(step.loads.cost)), step.count, step.loads, step.geometry.cap)
    return None if micro_batches is None else weigh(micro_batches, step.loads)


def split(step: PackedStep) -> list[MicroBatch]:
    """The step as it is packed, the heaviest split until there are `count` or samples allow no more."""
    return split_heaviest(weigh(step.packed, step.loads), step.count, step.loads)


def _whole(step: PackedStep) -> Ranks | None:
    """No more micro-batches than packing needs: each also costs what the model leaves out."""
    if not step.geometry.skips_dummies or len(step.packed) < step.geometry.dp_size:
        return None
    return distribute_evenly(weigh(step.packed, step.loads), step.geometry.dp_size, most_per_rank=None)


def _leveled(step: PackedStep) -> Ranks | None:
    micro_batches = leveled(step)
    return None if micro_batches is None else _distributed(micro_batches, step)


def _split(step: PackedStep) -> Ranks | None:
    return _distributed(split(step), step)


def _distributed(micro_batches: Sequence[MicroBatch], step: PackedStep) -> Ranks:
    most_per_rank = None if step.geometry.skips_dummies else step.most_per_rank
    return distribute_evenly(micro_batches, step.geometry.dp_size, most_per_rank=most_per_rank)


def _dealt(step: PackedStep) -> Ranks | None:
    """Samples dealt to ranks by cost before each rank packs its own: best balanced, if `count` micro-batches do."""
    if not step.moves_samples:
        return None
    samples, dp_size = range(len(step.loads.cost)), step.geometry.dp_size
    for filling in RANK_FILLINGS:
        room = int(step.most_per_rank * step.geometry.cap * filling)
        dealt = level_out(samples, dp_size, step.loads, room)
        ranks = None if dealt is None else _packed_ranks(dealt, step)
        if ranks is not None:
            return ranks + [[] for _ in range(dp_size - len(ranks))]
        if dealt is not None and step.geometry.skips_dummies:
            return None  # less full ranks need as many micro-batches in all
    return None


def _packed_ranks(dealt: Sequence[list[int]], step: PackedStep) -> Ranks | None:
    ranks: Ranks = []
    num_left = step.count
    for own in dealt:
        rank = _packed_rank(own, step)
        num_left -= len(rank)
        # Most dealings fail at one of the first ranks; to pack the others would take most of the time of a step.
        if num_left < 0 or (not step.geometry.skips_dummies and len(rank) > step.most_per_rank):
            return None
        ranks.append(rank)
    if step.geometry.skips_dummies:
        return ranks
    ranks = [split_heaviest(rank, step.most_per_rank, step.loads) for rank in ranks]
    # A rank of few samples would run a dummy that splitting elsewhere has made needless.
    fewest = min(step.count, len(step.loads.cost))
    return ranks if sum(map(len, ranks)) >= fewest else None


def _packed_rank(samples: Sequence[int], step: PackedStep) -> list[MicroBatch]:
    packed = packed_samples(step.loads.size[samples].tolist(), step.geometry)
    return weigh([[samples[i] for i in micro_batch] for micro_batch in packed], step.loads)


_ORDER: dict[tuple[bool, bool], tuple[Callable[[PackedStep], Ranks | None], ...]] = {
    (True, False): (_whole, _dealt, _leveled, _split),
    (False, False): (_whole, _leveled, _split, _dealt),
    # Equal micro-batches keep the stages of a pipeline in step.
    (True, True): (_leveled, _dealt, _split),
    (False, True): (_split, _leveled, _dealt),
}
"""By few micro-batches a rank, and a pipeline."""
