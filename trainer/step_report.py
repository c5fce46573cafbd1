"""What each rank tells of a step, and how the reports of all ranks become one `StepRecord`.

Message from `trainer/rank.py` (every rank) to `trainer/ray_trainer.py` (driver). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.contracts.metric import Metric, Reduction, last, mean, merge_metrics
from trainer.contracts.policy_trainer import GradientNoise, StepRecord, StepStatus
from trainer.contracts.span import Span
from trainer.layout import RankLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStepReport:
    """One rank's view of one step. All ranks agree on status, sizes and learning rate."""

    status: StepStatus
    global_batch_size: int
    lr: float
    lr_position_before: int
    lr_position_after: int
    train_s: float
    num_tokens: int
    """Tokens that this rank's dp_rank trained, prompts included."""
    micro_batch_s: tuple[float, ...]
    num_positions: tuple[int, ...] = ()
    """Positions computed by micro-batch; known on the last pipeline stage."""
    non_finite: tuple[int, ...] = ()
    """Micro-batches whose loss is NaN or infinite; known on the last pipeline stage."""
    peak_memory_bytes: int = 0
    """The most that the process, or its GPU, has held so far."""
    metrics: Mapping[str, Metric]
    """The share of this rank; `train/grad_norm` is the whole gradient's on every rank."""
    share_sq_norm: float | None = None
    """|c_r|² of this rank's dp_rank (see `GradientNoise`), where the phase measures it."""
    spans: tuple[Span, ...] = ()
    """What the rank did when, by its own clock."""


def merge_reports(reports: Sequence[RankStepReport], layout: RankLayout) -> StepRecord:
    """Merge one step's reports, in the order of the ranks.

    Losses and what is counted per token are known to the last pipeline stage, once for each dp_rank. A micro-batch
    takes as long as on the slowest of the ranks that share it.
    """
    assert len({(report.status, report.lr_position_after) for report in reports}) == 1, "ranks must agree on a step"
    first = reports[0]
    train_s = max(report.train_s for report in reports)
    tokens = sum(reports[layout.rank(dp_rank=dp_rank)].num_tokens for dp_rank in range(layout.dp))
    loss_ranks = [layout.rank(dp_rank=dp_rank, pp_rank=layout.pp - 1) for dp_rank in range(layout.dp)]
    metrics = merge_metrics(_without_grad_norm(reports[rank].metrics) for rank in loss_ranks)
    metrics |= {name: metric for name, metric in first.metrics.items() if name == "train/grad_norm"}
    if first.status is not StepStatus.SKIPPED_NO_SIGNAL:
        peak = max(report.peak_memory_bytes for report in reports)
        metrics |= {
            "train/lr": last(first.lr),
            "perf/train_tokens_per_s": mean(tokens, train_s),
            "perf/peak_memory_bytes": Metric(reduction=Reduction.MAX, total=peak),
        }
    return StepRecord(
        status=first.status,
        global_batch_size=first.global_batch_size,
        lr=first.lr,
        lr_position_before=first.lr_position_before,
        lr_position_after=first.lr_position_after,
        train_s=train_s,
        micro_batch_s=tuple(
            _slowest([reports[rank].micro_batch_s for rank in layout.ranks_of(dp_rank=dp_rank)])
            for dp_rank in range(layout.dp)
        ),
        num_positions=tuple(reports[rank].num_positions for rank in loss_ranks),
        metrics=metrics,
        noise=_noise(reports, layout),
        non_finite=tuple((dp_rank, k) for dp_rank, rank in enumerate(loss_ranks) for k in reports[rank].non_finite),
    )


def _noise(reports: Sequence[RankStepReport], layout: RankLayout) -> GradientNoise | None:
    shares = [reports[layout.rank(dp_rank=dp_rank)].share_sq_norm for dp_rank in range(layout.dp)]
    measured = tuple(share for share in shares if share is not None)
    if not measured or reports[0].status is not StepStatus.TRAINED:
        return None
    return GradientNoise(rank_sq_norms=measured, sq_norm=reports[0].metrics["train/grad_norm"].total ** 2)


def _without_grad_norm(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    return {name: metric for name, metric in metrics.items() if name != "train/grad_norm"}


def _slowest(seconds: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(max(of_micro_batch) for of_micro_batch in zip(*seconds, strict=True))
