"""How every step of a run is cut up: the settings that scheduler, planner and what-if share. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer, ScheduleSpec
from orchestrator.contracts.what_if import Geometry
from orchestrator.placing.order import MicroBatchOrder
from trainer.contracts.parallelism_spec import ParallelismSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGeometry:
    """Layout and cut. Exactly one of `token_cap` and `micro_batch_size` is given."""

    dp_size: int
    token_cap: int | None = None
    """Most tokens of a micro-batch on each context-parallel rank."""
    micro_batch_size: int | None = None
    """Samples of a micro-batch."""
    packer: Packer = Packer.FIRST_FIT_DECREASING
    balance: Balance = Balance.COST
    barrier: Barrier = Barrier.STEP
    cp: int = 1
    pp: int = 1
    vpp: int = 1
    overlap_grad_reduce: bool = False
    """Whether gradients are added up over the ranks while the last micro-batch is still computed."""

    def __post_init__(self) -> None:
        if (self.token_cap is None) == (self.micro_batch_size is None):
            raise ValueError("give either token_cap or micro_batch_size")
        for name in ("dp_size", "token_cap", "micro_batch_size", "cp", "pp", "vpp"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} must be at least 1")

    @property
    def micro_batch_token_cap(self) -> int | None:
        """Most tokens of a micro-batch over all its context-parallel ranks."""
        return None if self.token_cap is None else self.token_cap * self.cp

    @property
    def cap(self) -> int:
        """What a micro-batch of several samples may hold: tokens, or samples where `micro_batch_size` is given."""
        return self.micro_batch_size or self.micro_batch_token_cap or 1

    @property
    def count_multiple(self) -> int:
        """Micro-batches of a rank are a multiple of it: an interleaved pipeline runs them in groups of pp."""
        return self.pp if self.vpp > 1 else 1

    @property
    def skips_dummies(self) -> bool:
        """Whether the trainer skips a dummy at no cost. Where ranks meet within a step, they all run: at a barrier, in
        a pipeline, or where the last micro-batch of each rank sends gradients, piece by piece.
        """
        return self.pp == 1 and self.barrier is Barrier.STEP and not self.overlap_grad_reduce

    @property
    def order(self) -> MicroBatchOrder:
        return MicroBatchOrder.LARGEST_FIRST if self.pp == 1 else MicroBatchOrder.SMALL_ENDS


def geometry_of(schedule: ScheduleSpec | Geometry, parallelism: ParallelismSpec | Geometry) -> StepGeometry:
    """The settings that steps are scheduled with: those of a run, or of a what-if, which has both in one."""
    return StepGeometry(
        dp_size=parallelism.dp,
        token_cap=schedule.token_cap,
        micro_batch_size=schedule.micro_batch_size,
        packer=schedule.packer,
        balance=schedule.balance,
        barrier=schedule.barrier,
        cp=parallelism.cp,
        pp=parallelism.pp,
        vpp=parallelism.vpp,
        overlap_grad_reduce=parallelism.overlap_grad_reduce,
    )
