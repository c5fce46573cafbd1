"""Logits and weights of a Megatron model under any layout, from ranks in processes of their own, without Ray."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Sequence
from functools import partial
from multiprocessing.queues import Queue
from typing import Any

import numpy as np

from trainer.contracts.trainer_spec import TrainerSpec

Result = tuple[int, np.ndarray | None, dict[str, np.ndarray]]


def run_ranks(spec: TrainerSpec, sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """([T, V] logits of all sequences packed into one row, whole weights by Hugging Face names)."""
    context = multiprocessing.get_context("spawn")
    ports, results = context.Queue(), context.Queue()
    world_size = spec.parallelism.world_size
    processes = [
        context.Process(target=_run_rank, args=(spec, rank, sequences, ports, results)) for rank in range(world_size)
    ]
    for process in processes:
        process.start()
    parts: list[Result] = sorted((results.get(timeout=120) for _ in processes), key=lambda part: part[0])
    for process in processes:
        process.join()
    columns = [logits for _, logits, _ in parts if logits is not None]
    weights = {name: tensor for _, _, stage in parts for name, tensor in stage.items()}
    return np.concatenate(columns, axis=-1), weights


def _run_rank(
    spec: TrainerSpec, rank: int, sequences: Sequence[np.ndarray], ports: Queue[int], results: Queue[Result]
) -> None:
    warnings.simplefilter("ignore")
    from trainer.rank import MegatronRank

    member = MegatronRank(spec, rank=rank, device_type="cpu", num_threads=1, collective_timeout_s=60)
    if rank == 0:
        port = member.open_store("127.0.0.1")
        for _ in range(spec.parallelism.world_size - 1):
            ports.put(port)
    else:
        port = ports.get(timeout=60)
    member.join("127.0.0.1", port)
    results.put((rank, _logits(member, sequences), member.weights()))


def _logits(member: Any, sequences: Sequence[np.ndarray]) -> np.ndarray | None:
    """[T, columns of this rank] on the last pipeline stage."""
    import torch
    from megatron.core.pipeline_parallel import get_forward_backward_func

    from trainer.attention import packed_row_params
    from trainer.packed_layout import lay_out

    layout = lay_out(tuple(len(sequence) for sequence in sequences))
    row = packed_row_params(layout, torch.arange(layout.num_tokens))
    token_ids = torch.from_numpy(np.concatenate(sequences))[None]

    def forward_step(_: Any, model: torch.nn.Module) -> tuple[torch.Tensor, Any]:
        output = model(input_ids=token_ids, position_ids=row.positions, attention_mask=None, packed_seq_params=row)
        return output, partial(_keep)

    with torch.no_grad():
        kept = get_forward_backward_func()(
            forward_step_func=forward_step,
            data_iterator=None,
            model=[member._model],
            num_microbatches=1,
            seq_length=1,
            micro_batch_size=1,
            forward_only=True,
            collect_non_loss_data=True,
        )
    return kept[0][0].numpy() if kept else None


def _keep(output: Any, non_loss_data: bool = False) -> Any:
    return output
