"""A micro-batch as tensors on the device: this rank's packed row for the model, the loss tokens for the loss.

Under context parallelism each rank has the logits of its own part of the loss tokens. Their log-probabilities and
entropies, two numbers each, are gathered from all ranks, so that every loss sees whole samples and knows nothing of
ranks; in backward each rank keeps the gradients of its own.

Legend: R positions of the row, N loss tokens of the micro-batch, n those whose logits are on this rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from trainer.attention import PackedRowParams, Targets, packed_row_params
from trainer.device import row_attention
from trainer.packed_layout import Indices, PackedLayout, lay_out
from trainer.shard import RolloutArrays, SampleArrays


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """Where this rank stands among those that share a micro-batch."""

    cp_group: dist.ProcessGroup | None = None
    """None: this rank has all tokens."""
    row_multiple: int = 1
    """Of what every row's length is one: the tensor-parallel size under sequence parallelism."""

    @property
    def cp_size(self) -> int:
        return 1 if self.cp_group is None else self.cp_group.size()

    @property
    def cp_rank(self) -> int:
        return 0 if self.cp_group is None else self.cp_group.rank()


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTensors:
    """`RolloutArrays` of the loss tokens, [N] each."""

    advantages: Tensor | None = None
    old_log_probs: Tensor | None = None
    engine_log_probs: Tensor | None = None
    reference_log_probs: Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTokenSplit:
    """Which rank has the logits of which loss tokens."""

    group: dist.ProcessGroup
    own: Tensor  # [n]: which of the N are this rank's, in the order of its row
    most: int
    """The most that a rank has: what each of them sends."""
    sent: Tensor  # [N]: where each loss token is in what all ranks have sent


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """One micro-batch on one rank."""

    token_ids: Tensor  # [1, R]
    row: PackedRowParams
    num_padding: int
    """Positions without a token in the rows of all context-parallel ranks."""
    num_positions: int
    """Positions in all those rows."""
    num_samples: int
    split: LossTokenSplit | None
    """None where this rank has all loss tokens."""
    sample_index: Tensor  # [N]: which sample of the micro-batch each loss token is of
    loss_scales: Tensor  # [N]: each loss token's sample's loss_scale
    rollout: RolloutTensors

    def of_all_ranks(self, values: Tensor) -> Tensor:
        """[k, n] → [k, N]: what the ranks have computed for their loss tokens, with gradient for this rank's own."""
        if self.split is None:
            return values
        gathered: Tensor = _OfAllRanks.apply(values, self.split)  # type: ignore[no-untyped-call]
        return gathered


def to_micro_batch(
    samples: SampleArrays, device: torch.device, place: RankPlace, *, temperature: float = 1.0
) -> MicroBatch:
    """Pack samples into rows and take this rank's. temperature: at which log-probs are asked for."""
    loss_tokens = np.flatnonzero(samples.loss_mask)  # [N]; never a sample's first, so token − 1 is of the same sample
    sample_index = np.repeat(np.arange(samples.num_samples), samples.lengths)[loss_tokens]
    layout = lay_out(
        samples.lengths.tolist(), cp_size=place.cp_size, cp_rank=place.cp_rank, multiple=place.row_multiple
    )
    # A token's log-prob is computed where the token before it stands.
    predicting = layout.position_of_token[loss_tokens - 1]  # [N]
    own = np.flatnonzero(predicting // layout.num_positions == place.cp_rank)  # [n]
    token_ids = np.zeros(layout.num_positions, dtype=np.int64)
    token_ids[: layout.tokens.shape[0]] = samples.token_ids[layout.tokens]
    row = packed_row_params(
        row_attention(layout, device),
        position_ids=torch.from_numpy(layout.position_ids).to(device),
        targets=Targets(
            token_ids=torch.from_numpy(samples.token_ids[loss_tokens[own]]).to(device),
            predicting_rows=torch.from_numpy(predicting[own] - place.cp_rank * layout.num_positions).to(device),
            temperature=temperature,
        ),
    )
    return MicroBatch(
        token_ids=torch.from_numpy(token_ids).to(device)[None],
        row=row,
        num_padding=place.cp_size * layout.num_positions - len(samples.token_ids),
        num_positions=place.cp_size * layout.num_positions,
        num_samples=samples.num_samples,
        split=None if place.cp_group is None else _split(predicting, layout, own, device, place.cp_group),
        sample_index=torch.from_numpy(sample_index).to(device),
        loss_scales=torch.from_numpy(samples.loss_scales[sample_index]).to(device),
        rollout=_to_device(samples.rollout.at(loss_tokens), device),
    )


def dummy_micro_batch(device: torch.device, place: RankPlace, *, arrays: Sequence[str]) -> MicroBatch:
    """One token and no loss: what a pipeline runs so that all ranks do the same number of micro-batches.

    arrays: names of what the loss reads of rollouts.
    """
    zero = np.zeros(1, dtype=np.float32)
    samples = SampleArrays(
        lengths=np.ones(1, dtype=np.int64),
        token_ids=np.zeros(1, dtype=np.int64),
        loss_mask=np.zeros(1, dtype=np.bool_),
        loss_scales=zero,
        rollout=RolloutArrays(**dict.fromkeys(arrays, zero)),
    )
    micro_batch = to_micro_batch(samples, device, place)
    # It counts for nothing: the mean over the step's samples must not see it, and all of it is padding.
    return replace(micro_batch, num_samples=0, num_padding=micro_batch.num_positions)


def _split(
    predicting: Indices, layout: PackedLayout, own: Indices, device: torch.device, group: dist.ProcessGroup
) -> LossTokenSplit:
    ranks = predicting // layout.num_positions  # [N]
    counts = np.bincount(ranks, minlength=group.size())
    most = int(counts.max(initial=0))
    order = np.argsort(ranks, kind="stable")  # rank by rank, each in the order of the micro-batch, as `own` is
    sent = np.empty_like(ranks)
    sent[order] = np.concatenate([rank * most + np.arange(count) for rank, count in enumerate(counts)])
    return LossTokenSplit(
        group=group, own=torch.from_numpy(own).to(device), most=most, sent=torch.from_numpy(sent).to(device)
    )


def _to_device(arrays: RolloutArrays, device: torch.device) -> RolloutTensors:
    return RolloutTensors(**{name: torch.from_numpy(array).to(device) for name, array in arrays.given().items()})


class _OfAllRanks(torch.autograd.Function):
    """Gather; every rank computes the same loss of the result, so that each has the gradients of its own already."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, split: LossTokenSplit) -> Tensor:
        ctx.save_for_backward(split.own)
        num_values, num_own = values.shape
        sent = values.new_zeros(split.most, num_values)
        sent[:num_own] = values.T
        gathered = values.new_empty(split.group.size() * split.most, num_values)
        if split.most:
            dist.all_gather_into_tensor(gathered, sent, group=split.group)
        return gathered.index_select(0, split.sent).T

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (own,) = ctx.saved_tensors
        return gradient.index_select(1, own), None
