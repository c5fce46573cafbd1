"""One Megatron rank: a process's share of the model, from joining the process group to handing out weights.

A plain class, so that tests can run one rank without Ray; `trainer/ray_trainer.py` puts one into each actor.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from megatron.core import parallel_state
from torch import Tensor

from trainer.adam_state import MOMENTS, AdamState, read_adam_state, write_adam_state
from trainer.architecture import Architecture, load_hf_config
from trainer.checkpoint import (
    REFERENCE,
    WEIGHT,
    BackgroundWrite,
    TrainerPosition,
    read_position,
    read_tensors,
    write_position,
    write_stage,
)
from trainer.contracts.policy_trainer import LogProbsOf
from trainer.contracts.progress import log as progress_log
from trainer.contracts.trainer_spec import PhaseSpec, TrainerSpec
from trainer.conversion import shard_stage, unshard_stage
from trainer.device import BACKENDS, DeviceType, open_device, seed_device
from trainer.initial_weights import initial_weights
from trainer.log_prob_pass import log_prob_pass
from trainer.losses.table import logit_temperature
from trainer.model import build_model, gathered_gradients, parameters_of, set_weights, tensors_of, wait_for_weights
from trainer.optimization import LrSchedule, build_optimizer
from trainer.reference_weights import ReferenceWeights
from trainer.shard import FloatArray, RankShard
from trainer.step_report import RankStepReport
from trainer.train_step import TrainingState, train

WholeTensors = dict[str, npt.NDArray[np.float32]]


class MegatronRank:
    """One rank.

    open_store (rank 0) ─► join ─► start_phase ─► train ─► weights …
    """

    def __init__(
        self, spec: TrainerSpec, *, rank: int, device_type: DeviceType, num_threads: int, collective_timeout_s: float
    ) -> None:
        self._spec = spec
        self._rank = rank
        self._device_type = device_type
        self._timeout = timedelta(seconds=collective_timeout_s)
        self._store: Any = None
        self._state: TrainingState | None = None
        self._reference: ReferenceWeights | None = None
        self._save: BackgroundWrite | None = None
        # Ranks share the machine's cores; two processes with two threads each slow each other to a crawl.
        torch.set_num_threads(num_threads)

    def open_store(self, host: str) -> int:
        """On rank 0: open the rendezvous on a free port and return the port."""
        self._store = self._connect(host, port=0)
        return int(self._store.port)

    def join(self, host: str, port: int) -> None:
        """Meet all other ranks and build this rank's part of the model."""
        store = self._store or self._connect(host, port)
        self._device = open_device(self._device_type)
        world_size = self._spec.parallelism.world_size
        dist.init_process_group(
            BACKENDS[self._device_type], store=store, rank=self._rank, world_size=world_size, timeout=self._timeout
        )
        parallelism = self._spec.parallelism
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=parallelism.tp,
            pipeline_model_parallel_size=parallelism.pp,
            virtual_pipeline_model_parallel_size=parallelism.vpp if parallelism.vpp > 1 else None,
            context_parallel_size=parallelism.cp,
            distributed_timeout_minutes=self._timeout.total_seconds() / 60,
            create_gloo_process_groups=False,
        )
        seed_device(self._device, self._spec.seed)
        self._build()

    def start_phase(self, phase: PhaseSpec) -> None:
        """Keep the weights; begin optimizer and learning rate anew."""
        optimizer = build_optimizer(phase.optimizer, self._model)
        self._state = TrainingState(
            model=self._model,
            optimizer=optimizer,
            lr_schedule=LrSchedule(phase.optimizer, optimizer),
            loss=phase.loss,
            device=self._device,
            measure_noise=phase.measure_noise,
        )
        self._reference = ReferenceWeights(self._parameters) if phase.keeps_reference else None

    def train(self, shard: RankShard) -> list[RankStepReport]:
        """Train this rank's share of an iteration; one report for each step."""
        return train(self._phase_state(), shard, global_batch_sizes=shard.global_batch_sizes)

    def log_probs(self, shard: RankShard, of: LogProbsOf) -> FloatArray | None:
        """Log-probs of the shard's loss tokens, [T] as in `SampleArrays`; None where another rank has them too.

        Raises:
            ValueError: the reference is asked for in a phase that keeps none.
        """
        if of is LogProbsOf.REFERENCE and self._reference is None:
            raise ValueError("this phase keeps no reference; set keeps_reference in its PhaseSpec")
        state = self._phase_state()
        wait_for_weights(self._model)
        with self._reference.swapped_in() if of is LogProbsOf.REFERENCE and self._reference else nullcontext():
            log_probs = log_prob_pass(
                state.model,
                [micro_batch for step in shard.steps() for micro_batch in step],
                temperature=logit_temperature(state.loss),
                device=state.device,
            )
        is_first = parallel_state.get_tensor_model_parallel_rank() == parallel_state.get_context_parallel_rank() == 0
        return log_probs if is_first else None

    def weights(self) -> WholeTensors:
        """The stage's whole tensors by Hugging Face names, on the first of the ranks that hold them.

        All ranks must call it; the others get nothing.
        """
        wait_for_weights(self._model)
        return self._whole(self._parameters)

    def gradients(self) -> WholeTensors:
        """The last step's gradient, like `weights`; after clipping, where there is any."""
        return self._whole(gathered_gradients(self._model))

    def begin_save(self, directory: str) -> None:
        """Copy the state of weights, optimizer and learning rate, and begin to write it; training may go on at once.

        Every rank must call it. The first data-parallel copy of each stage writes.
        """
        state, path = self._phase_state(), Path(directory)
        adam = read_adam_state(state.optimizer, self._parameters)
        tensors = {WEIGHT: self._whole(adam.weights)} | {name: self._whole(adam.moments[name]) for name in MOMENTS}
        if self._reference is not None:
            frozen = {name: tensor.to(self._device) for name, tensor in self._reference.tensors.items()}
            tensors[REFERENCE] = self._whole(frozen)
        stage = parallel_state.get_pipeline_model_parallel_rank()
        position = TrainerPosition(num_updates=adam.num_updates, lr_schedule=state.lr_schedule.state_dict())

        def write() -> None:
            if tensors[WEIGHT] and parallel_state.get_data_parallel_rank(with_context_parallel=True) == 0:
                write_stage(path, stage, tensors)
            if self._rank == 0:
                write_position(path, position)

        self._save = BackgroundWrite(write)

    def finish_save(self) -> None:
        """Return when this rank's part of the checkpoint is written.

        Raises:
            OSError: it could not be.
        """
        if self._save is not None:
            self._save.wait()
            self._save = None

    def load(self, directory: str) -> None:
        """Go on from a checkpoint of any layout, in a phase that was started and has not trained yet.

        Raises:
            ValueError: the checkpoint is damaged or of another model.
        """
        state, path = self._phase_state(), Path(directory)
        position = read_position(path)
        names = {name for tensor in self._tensors for name in tensor.hf_names}
        shards = {kind: self._shards(read_tensors(path, kind, names)) for kind in (WEIGHT, *MOMENTS)}
        write_adam_state(
            state.optimizer,
            self._parameters,
            AdamState(
                num_updates=position.num_updates,
                weights=shards[WEIGHT],
                moments={moment: shards[moment] for moment in MOMENTS},
            ),
        )
        state.lr_schedule.load_state_dict(position.lr_schedule)
        if self._reference is not None:
            self._reference.set(self._shards(read_tensors(path, REFERENCE, names)))

    def leave(self) -> None:
        """Undo `join`, so that the process can join again: for tests that run a rank in their own process."""
        parallel_state.destroy_model_parallel()
        dist.destroy_process_group()

    def progress(self) -> tuple[int | None, int | None]:
        """(step, micro-batch) that runs now, counted within this call of `train`; None where nothing runs."""
        if self._state is None:
            return None, None
        timer = self._state.timer
        return self._state.step, None if timer is None else timer.num_forwarded

    def _connect(self, host: str, port: int) -> Any:
        is_master = self._rank == 0
        return dist.TCPStore(  # type: ignore[attr-defined]
            host, port, is_master=is_master, timeout=self._timeout, wait_for_workers=False
        )

    def _build(self) -> None:
        spec = self._spec
        self._architecture = Architecture.from_hf_config(load_hf_config(spec.model))
        progress_log.info("building the model")
        self._model = build_model(self._architecture, spec.parallelism, device=self._device)
        self._parameters = parameters_of(self._model)
        self._tensors = tensors_of(self._model, self._architecture)
        names = {hf_name for tensor in self._tensors for hf_name in tensor.hf_names}
        whole = initial_weights(spec.model, self._architecture, seed=spec.seed, names=names)
        set_weights(self._model, self._shards(whole))

    def _phase_state(self) -> TrainingState:
        if self._state is None:
            raise ValueError("train, begin_save and load want a phase; call start_phase first")
        return self._state

    def _shards(self, whole: Mapping[str, Tensor]) -> dict[str, Tensor]:
        tp_rank = parallel_state.get_tensor_model_parallel_rank()
        return shard_stage(self._tensors, whole, tp_rank=tp_rank, tp_size=self._spec.parallelism.tp)

    def _whole(self, tensors: Mapping[str, Tensor]) -> WholeTensors:
        """The stage's whole tensors on the first tensor-parallel rank of the first copy of the model."""
        if parallel_state.get_data_parallel_rank(with_context_parallel=True) > 0:
            return {}
        shards = _gather(tensors)
        if not shards:
            return {}
        return {name: tensor.numpy() for name, tensor in unshard_stage(self._tensors, shards).items()}


def _gather(tensors: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
    """The tensors of every tensor-parallel rank, on the first of them, in CPU memory and one message per rank."""
    group = parallel_state.get_tensor_model_parallel_group()
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors.values()]).float()
    parts = [torch.empty_like(flat) for _ in range(group.size())] if group.rank() == 0 else None
    dist.gather(flat, parts, group=group, group_dst=0)
    sizes = [tensor.numel() for tensor in tensors.values()]
    return [
        {
            name: part.view(tensor.shape)
            for (name, tensor), part in zip(tensors.items(), torch.split(whole.cpu(), sizes), strict=True)
        }
        for whole in parts or []
    ]
