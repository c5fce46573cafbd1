"""Logits and weights of a Megatron model under any layout, from the ranks of a `RankPool`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.trainer.rank_pool import RankPool
from trainer.contracts.trainer_spec import TrainerSpec
from trainer.layout import RankLayout
from trainer.shard import RolloutArrays, SampleArrays


def run_ranks(
    pool: RankPool, spec: TrainerSpec, sequences: Sequence[np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """([N, V] logits in front of every token but the first of each sequence, whole weights by Hugging Face names)."""
    layout = RankLayout.of(spec.parallelism)
    answers = pool.run(spec, _logits_and_weights, sequences)
    num_tokens = sum(len(sequence) - 1 for sequence in sequences)
    logits: np.ndarray | None = None
    for cp_rank in range(layout.cp):
        ranks = [layout.rank(pp_rank=layout.pp - 1, cp_rank=cp_rank, tp_rank=tp_rank) for tp_rank in range(layout.tp)]
        own = answers[ranks[0]][0]
        columns = np.concatenate([answers[rank][1] for rank in ranks], axis=-1)
        logits = np.empty((num_tokens, columns.shape[-1]), dtype=np.float32) if logits is None else logits
        logits[own] = columns
    assert logits is not None
    return logits, {name: tensor for rank in layout.first_copy for name, tensor in answers[rank][2].items()}


def _logits_and_weights(member: Any, rank: int, sequences: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
    """(which of the N, their [n, columns of this rank] logits, weights); logits on the last stage only."""
    import torch

    from trainer.forward_backward import run_schedule

    lengths = np.array([len(sequence) for sequence in sequences])
    is_first = np.zeros(lengths.sum(), dtype=np.bool_)
    is_first[np.cumsum([0, *lengths[:-1]])] = True
    samples = SampleArrays(
        lengths=lengths,
        token_ids=np.concatenate(sequences),
        loss_mask=~is_first,
        loss_scales=np.ones(len(sequences), dtype=np.float32),
        rollout=RolloutArrays(),
    )
    # An interleaved pipeline wants as many micro-batches as it has ranks.
    micro_batches = [samples, *[None] * (member._spec.parallelism.pp - 1)]
    last = member._model[-1].module
    if last.post_process:
        # The model's own output layer never has all logits.
        last.output_layer.forward = partial(_logits, last.output_layer)
    with torch.no_grad():
        kept = run_schedule(
            member._model,
            micro_batches,
            apply=_keep,
            arrays=(),
            temperature=1.0,
            forward_only=True,
            device=torch.device("cpu"),
        )
    own, logits = kept[0] if kept else (None, None)
    return own, logits, member.weights()


def _logits(layer: Any, hidden: Any, _: Any, *, tied_weight: Any) -> Any:
    return hidden @ (layer.weight if tied_weight is None else tied_weight).T


def _keep(logits: Any, *, micro_batch: Any) -> tuple[Any, Any]:
    split = micro_batch.split
    own = np.arange(len(micro_batch.loss_scales)) if split is None else split.own.numpy()
    return logits.sum(), (own, logits.numpy())
