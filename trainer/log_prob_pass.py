"""A forward pass that trains nothing: the log-probs of tokens that are already there, by the weights as they are.

`trainer/rank.py` calls it on every rank at once, for the policy before an iteration's first update and for the frozen
reference. It goes through the same pipeline schedule as training, so it works under every layout that training does.

Legend: N loss tokens of a micro-batch, n those whose log-probs this context-parallel rank computes, T tokens of all
micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from megatron.core import parallel_state
from torch import Tensor

from trainer.forward_backward import run_schedule
from trainer.micro_batch import MicroBatch
from trainer.model import ModelChunks
from trainer.shard import FloatArray, SampleArrays


@torch.no_grad()
def log_prob_pass(
    model: ModelChunks,
    micro_batches: Sequence[SampleArrays | None],
    *,
    temperature: float,
    device: torch.device,
) -> FloatArray | None:
    """Log p(token t | tokens < t) of every loss token, 0 elsewhere: [T], in the order of the micro-batches.

    model: this rank's chunks.
    micro_batches: this rank's; None for a dummy.

    Returns None on all but the last pipeline stage.
    """
    model[0].config.timers = None
    kept = run_schedule(
        model,
        micro_batches,
        apply=_keep_log_probs,
        arrays=(),
        temperature=temperature,
        forward_only=True,
        device=device,
    )
    if not parallel_state.is_pipeline_last_stage(ignore_virtual=True):
        return None
    rows = [
        _spread(samples, log_probs)
        for samples, log_probs in zip(micro_batches, kept, strict=True)
        if samples is not None
    ]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.float32)


def _keep_log_probs(of_rank: Tensor, *, micro_batch: MicroBatch) -> tuple[Tensor, Tensor]:
    """No loss, and the log-probs [N] of the micro-batch's loss tokens on the CPU. of_rank: [2, n]."""
    (log_probs,) = micro_batch.of_all_ranks(of_rank[:1])
    return torch.zeros((), device=of_rank.device), log_probs.cpu()


def _spread(samples: SampleArrays, log_probs: Tensor) -> FloatArray:
    """From the loss tokens to all tokens of a micro-batch."""
    row = np.zeros(samples.loss_mask.shape, dtype=np.float32)
    row[samples.loss_mask] = log_probs.numpy()
    return row
