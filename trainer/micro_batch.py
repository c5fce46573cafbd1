"""A micro-batch as tensors on the device: the packed row for the model, the loss tokens for the loss.

Legend: T tokens of the row, N loss tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainer.attention import PackedRowParams, packed_row_params
from trainer.packed_layout import lay_out
from trainer.shard import FloatArray, SampleArrays


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """One packed row."""

    token_ids: Tensor  # [1, T]
    row: PackedRowParams
    num_samples: int
    target_ids: Tensor  # [N]: the loss tokens
    loss_scales: Tensor  # [N]: each loss token's sample's loss_scale
    advantages: Tensor | None  # [N]
    old_log_probs: Tensor | None  # [N]


def to_micro_batch(samples: SampleArrays, device: torch.device) -> MicroBatch:
    """Pack samples into one row."""
    loss_rows = np.flatnonzero(samples.loss_mask)  # [N]; never a sample's first token, so row − 1 is in the same sample
    sample_of_row = np.repeat(np.arange(samples.num_samples), samples.lengths)
    layout = lay_out(tuple(samples.lengths.tolist()))
    return MicroBatch(
        token_ids=torch.tensor(samples.token_ids, device=device)[None],
        row=packed_row_params(layout, torch.from_numpy(loss_rows - 1).to(device)),
        num_samples=samples.num_samples,
        target_ids=torch.from_numpy(samples.token_ids[loss_rows]).to(device),
        loss_scales=torch.from_numpy(samples.loss_scales[sample_of_row[loss_rows]]).to(device),
        advantages=_pick(samples.advantages, loss_rows, device),
        old_log_probs=_pick(samples.old_log_probs, loss_rows, device),
    )


def dummy_micro_batch(device: torch.device, *, with_rollout_data: bool) -> MicroBatch:
    """One token and no loss: what a pipeline runs so that all ranks do the same number of micro-batches."""
    zero = np.zeros(1, dtype=np.float32)
    samples = SampleArrays(
        lengths=np.ones(1, dtype=np.int64),
        token_ids=np.zeros(1, dtype=np.int64),
        loss_mask=np.zeros(1, dtype=np.bool_),
        loss_scales=zero,
        advantages=zero if with_rollout_data else None,
        old_log_probs=zero if with_rollout_data else None,
    )
    # It counts for nothing: the mean over the step's samples must not see it.
    return replace(to_micro_batch(samples, device), num_samples=0)


def _pick(array: FloatArray | None, rows: np.ndarray, device: torch.device) -> Tensor | None:
    return None if array is None else torch.from_numpy(array[rows]).to(device)
