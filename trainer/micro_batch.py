"""A micro-batch as tensors on the device: the packed row for the model, the loss tokens for the loss.

Legend: T tokens of the row, N loss tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainer.attention import PackedRowParams, packed_row_params
from trainer.packed_layout import lay_out
from trainer.shard import RolloutArrays, SampleArrays


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTensors:
    """`RolloutArrays` of the loss tokens, [N] each."""

    advantages: Tensor | None = None
    old_log_probs: Tensor | None = None
    engine_log_probs: Tensor | None = None
    reference_log_probs: Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """One packed row."""

    token_ids: Tensor  # [1, T]
    row: PackedRowParams
    num_samples: int
    target_ids: Tensor  # [N]: the loss tokens
    sample_index: Tensor  # [N]: which sample of the micro-batch each loss token is of
    loss_scales: Tensor  # [N]: each loss token's sample's loss_scale
    rollout: RolloutTensors


def to_micro_batch(samples: SampleArrays, device: torch.device) -> MicroBatch:
    """Pack samples into one row."""
    loss_rows = np.flatnonzero(samples.loss_mask)  # [N]; never a sample's first token, so row − 1 is in the same sample
    sample_index = np.repeat(np.arange(samples.num_samples), samples.lengths)[loss_rows]
    layout = lay_out(tuple(samples.lengths.tolist()))
    return MicroBatch(
        token_ids=torch.tensor(samples.token_ids, device=device)[None],
        row=packed_row_params(layout, torch.from_numpy(loss_rows - 1).to(device)),
        num_samples=samples.num_samples,
        target_ids=torch.from_numpy(samples.token_ids[loss_rows]).to(device),
        sample_index=torch.from_numpy(sample_index).to(device),
        loss_scales=torch.from_numpy(samples.loss_scales[sample_index]).to(device),
        rollout=_to_device(samples.rollout.at(loss_rows), device),
    )


def dummy_micro_batch(device: torch.device, *, arrays: Sequence[str]) -> MicroBatch:
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
    # It counts for nothing: the mean over the step's samples must not see it.
    return replace(to_micro_batch(samples, device), num_samples=0)


def _to_device(arrays: RolloutArrays, device: torch.device) -> RolloutTensors:
    return RolloutTensors(**{name: torch.from_numpy(array).to(device) for name, array in arrays.given().items()})
