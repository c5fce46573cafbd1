"""The trainer as Ray actors, one per Megatron rank: implements `PolicyTrainer`.

    driver ── shard of its dp_rank ──► RankActor 0 … n−1 ── torch.distributed among themselves
           ◄── report, or failure ────

The driver imports neither torch nor Megatron. It never waits for a rank whose peer is known to have failed: the first
failure ends all actors and becomes a `TrainerError`.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import ray

from trainer.architecture import Architecture, load_hf_config
from trainer.checkpoint_files import check_tensors
from trainer.contracts.actor_environment import actor_environment
from trainer.contracts.loss_spec import LossSpec
from trainer.contracts.model_spec import HuggingFaceModelSpec
from trainer.contracts.policy_trainer import LogProbsOf, StepRecord, TrainerError, Weights
from trainer.contracts.process_log import failures_logged, write_process_log
from trainer.contracts.progress import log as progress_log
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.contracts.span import Activity, ActorSpans, RemoteClock, Span, Timed
from trainer.contracts.trainer_spec import PhaseSpec, TrainerSpec
from trainer.layout import RankLayout, check_layout
from trainer.rank_failure import RankFailure, describe_failures, failure_of
from trainer.shard import make_shards
from trainer.step_report import merge_reports

_log = logging.getLogger(__name__)

# When one rank fails its peers often follow within moments, and the first to report need not be the first cause.
GRACE_AFTER_FAILURE_S = 3.0

# Of each rank, for a caller that never asks for them.
_MAX_SPANS = 20_000

_ACTIVITIES = {"log_probs": Activity.LOG_PROBS, "weights": Activity.PUSH, "begin_save": Activity.SAVE}
"""Methods of a rank that are one activity from beginning to end."""

# How long the processes of killed actors may take to be gone.
CLOSE_TIMEOUT_S = 10.0


class RankActor:
    """The process of one rank. A failure comes back as data, so that the driver can compare those of several ranks."""

    def __init__(
        self, rank: int, spec: TrainerSpec, options: Mapping[str, Any], log_directory: Path | None = None
    ) -> None:
        """log_directory: gets the log of this process; None leaves it where Ray puts it."""
        if log_directory is not None:
            write_process_log(log_directory, f"rank {rank}")
        with failures_logged("starting"):
            self._start(rank, spec, options)

    def _start(self, rank: int, spec: TrainerSpec, options: Mapping[str, Any]) -> None:
        progress_log.info("importing torch and Megatron")
        # Megatron warns of CUDA packages that a CPU does without, and of its own deprecations.
        warnings.filterwarnings("ignore", module="megatron")
        # Megatron's inference loads W&B where that is installed. No rank uses it, and it makes temporary directories at
        # once, which stay behind when an actor is killed.
        sys.modules["wandb"] = None  # type: ignore[assignment]
        # Imported here, in the actor: the driver does without torch and Megatron.
        from trainer.rank import MegatronRank

        del sys.modules["wandb"]
        self._number = rank
        self._rank = MegatronRank(spec, rank=rank, **options)

    def host(self) -> str:
        """The address at which other ranks reach this one."""
        return str(ray.util.get_node_ip_address())

    def pid(self) -> int:
        """The process of this rank."""
        return os.getpid()

    def call(self, method: str, *args: Any) -> Timed:
        """Call a method of `MegatronRank`; returns its result or a `RankFailure`, and when that was."""
        began_s = time.perf_counter()
        value = self._outcome(method, args)
        return Timed(value=value, began_s=began_s, ended_s=time.perf_counter())

    def _outcome(self, method: str, args: Sequence[Any]) -> Any:
        try:
            return getattr(self._rank, method)(*args)
        except Exception as error:  # the edge of the process: whatever it was, the driver must hear of it
            step, micro_batch = self._rank.progress()
            failure = failure_of(error, rank=self._number, step=step, micro_batch=micro_batch)
            _log.exception("%s", failure.place)
            return failure


class RayPolicyTrainer:
    """dp × tp × pp × cp ranks in actors that end with the driver. Needs a Ray that is already initialised.

    Raises:
        ValueError: the model is unknown, its directory incomplete, or the layout does not fit it.
        TrainerError: a rank failed to start, raised or died; the trainer is closed then.
    """

    def __init__(
        self,
        spec: TrainerSpec,
        *,
        device_type: Literal["cpu", "cuda"] | None = None,
        threads_per_rank: int = 1,
        cpus_per_rank: float = 0.0,
        collective_timeout_s: float = 60.0,
        log_directory: Path | None = None,
    ) -> None:
        """Start the ranks and build the model.

        device_type: None takes CUDA where Ray has a GPU for every rank, else the CPU.
        threads_per_rank: threads for the tensor operations of one rank.
        cpus_per_rank: what Ray shall reserve for each rank.
        collective_timeout_s: how long ranks wait for each other before they give up; longer than the longest step's
            difference between two ranks.
        log_directory: where each rank writes its log; it must be the same for all of them.
        """
        self._hf_config = load_hf_config(spec.model)
        architecture = Architecture.from_hf_config(self._hf_config)
        check_layout(architecture, spec.parallelism)
        if isinstance(spec.model, HuggingFaceModelSpec):
            check_tensors(Path(spec.model.path), architecture)
        self._layout = RankLayout.of(spec.parallelism)
        self._vocab_size = architecture.vocab_size
        self._loss: LossSpec | None = None
        device_type = device_type or _device_type(self._layout.world_size)
        on_gpu = device_type == "cuda"
        options = {
            "device_type": device_type,
            "num_threads": threads_per_rank,
            "collective_timeout_s": collective_timeout_s,
        }
        actor_class = ray.remote(RankActor).options(
            num_cpus=cpus_per_rank,
            num_gpus=1 if on_gpu else 0,
            max_restarts=0,
            runtime_env={"env_vars": actor_environment(threads_per_rank, may_compile=on_gpu)},
        )
        self._clocks = [RemoteClock() for _ in self._ranks]
        self._busy: set[int] = set()
        self._spans: defaultdict[int, deque[Span]] = defaultdict(lambda: deque(maxlen=_MAX_SPANS))
        self._actors = [actor_class.remote(rank, spec, options, log_directory) for rank in self._ranks]
        self._rendezvous()

    def hf_config(self) -> Mapping[str, Any]:
        return self._hf_config

    def start_phase(self, phase: PhaseSpec) -> None:
        self._call_all("start_phase", phase)
        self._loss = phase.loss

    def train(self, *, samples: Sequence[TrainSample], schedule: DpSchedule) -> list[StepRecord]:
        """Train the steps of one iteration.

        Raises:
            ValueError: no phase was started, the schedule is for another dp size, or a sample is not fit for the loss
                or the vocabulary; nothing was trained.
            TrainerError: a rank failed.
        """
        if self._loss is None:
            raise ValueError("train was called before start_phase")
        self._check_dp(schedule)
        shards = make_shards(samples, schedule, loss=self._loss, vocab_size=self._vocab_size)
        in_store = [ray.put(shard) for shard in shards]
        reports = self._call({rank: ("train", in_store[self._layout.dp_rank(rank)]) for rank in self._ranks})
        return [merge_reports(of_step, self._layout) for of_step in zip(*reports, strict=True)]

    def log_probs(
        self, *, samples: Sequence[TrainSample], schedule: DpSchedule, of: LogProbsOf
    ) -> list[npt.NDArray[np.float32]]:
        """Log-probs of the samples' loss tokens; nothing is trained.

        Raises:
            ValueError: the schedule is for another dp size, or a token is not in the vocabulary.
            TrainerError: a rank failed, or the reference is asked for in a phase that keeps none.
        """
        self._check_dp(schedule)
        shards = make_shards(samples, schedule, loss=None, vocab_size=self._vocab_size)
        in_store = [ray.put(shard) for shard in shards]
        found = self._call({rank: ("log_probs", in_store[self._layout.dp_rank(rank)], of) for rank in self._ranks})
        log_probs: list[npt.NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(samples)
        for dp_rank, partition in enumerate(schedule.partitions):
            row = found[self._layout.rank(dp_rank=dp_rank, pp_rank=self._layout.pp - 1)]
            bounds = np.cumsum([samples[i].num_tokens for i in partition])
            for i, part in zip(partition, np.split(row, bounds[:-1]), strict=False):
                log_probs[i] = part
        return log_probs

    def weights(self) -> Weights:
        return self._gather("weights")

    def gradients(self) -> Weights:
        """The gradient of the last trained step, by the names of `weights`."""
        return self._gather("gradients")

    def begin_save(self, directory: str) -> None:
        self._call_all("begin_save", directory)

    def finish_save(self) -> None:
        self._call_all("finish_save")

    def load(self, directory: str) -> None:
        self._call_all("load", directory)

    def busy(self) -> list[str]:
        """The ranks that a call waits for. Any thread may ask."""
        return [f"rank {rank}" for rank in sorted(self._busy)]

    def take_spans(self) -> ActorSpans:
        spans = {f"rank {rank}": list(of_rank) for rank, of_rank in sorted(self._spans.items())}
        self._spans.clear()
        return spans

    def close(self) -> None:
        actors, self._actors = self._actors, []
        if not ray.is_initialized():
            # Ray ended first, and the actors with it.
            return
        for actor in actors:
            ray.kill(actor, no_restart=True)
        _wait_until_dead(actors)

    def _check_dp(self, schedule: DpSchedule) -> None:
        if len(schedule.partitions) != self._layout.dp:
            raise ValueError(f"the schedule is for dp={len(schedule.partitions)}, the trainer has dp={self._layout.dp}")

    @property
    def _ranks(self) -> range:
        return range(self._layout.world_size)

    def _rendezvous(self) -> None:
        try:
            # All at once: from here on the ranks wait for each other no longer than collective_timeout_s, and importing
            # torch and Megatron in a cold process may take longer than that.
            host, *_ = ray.get([actor.host.remote() for actor in self._actors])
        except ray.exceptions.RayError as error:
            self.close()
            raise TrainerError(f"a rank did not start: {error}") from error
        (port,) = self._call({0: ("open_store", host)})
        self._call_all("join", host, port)

    def _gather(self, method: str) -> Weights:
        """Whole tensors from every pipeline stage of the first copy of the model; the others only take part."""
        of_ranks = self._call_all(method)
        return dict(chain.from_iterable(of_ranks[rank].items() for rank in self._layout.first_copy))

    def _call_all(self, *call: Any) -> list[Any]:
        return self._call(dict.fromkeys(self._ranks, call))

    def _call(self, calls: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        """Call a method on several ranks at once; results in the order of `calls`."""
        if not self._actors:
            raise TrainerError("the trainer is closed")
        sent_s = time.perf_counter()
        refs = {self._actors[rank].call.remote(*call): rank for rank, call in calls.items()}
        self._busy = set(calls)
        results, failures = _collect(refs, self._busy)
        if failures:
            self.close()
            raise TrainerError(describe_failures(failures))
        for rank, answer in results.items():
            self._clocks[rank].observe(answer.timed, sent_s=sent_s, received_s=answer.received_s)
            self._spans[rank].extend(map(self._clocks[rank].here, _spans_of(calls[rank][0], answer.timed)))
        return [results[rank].timed.value for rank in calls]


def _device_type(world_size: int) -> Literal["cpu", "cuda"]:
    return "cuda" if ray.cluster_resources().get("GPU", 0) >= world_size else "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a rank said, and when that was heard."""

    timed: Timed
    received_s: float


def _spans_of(method: str, timed: Timed) -> Sequence[Span]:
    """What a rank did in a call, by its own clock."""
    if method == "train":
        return [span for report in timed.value for span in report.spans]
    activity = _ACTIVITIES.get(method)
    return [] if activity is None else [Span(activity=activity, start_s=timed.began_s, end_s=timed.ended_s)]


def _collect(refs: Mapping[Any, int], busy: set[int]) -> tuple[dict[int, _Answer], list[RankFailure]]:
    """Wait for all ranks; after the first failure only a moment longer, since its peers may wait for it in vain.

    busy: the ranks that have not answered; each leaves when it does.
    """
    results: dict[int, _Answer] = {}
    failures: list[RankFailure] = []
    pending, give_up_at = list(refs), None
    while pending:
        timeout = None if give_up_at is None else max(0.0, give_up_at - time.monotonic())
        done, pending = ray.wait(pending, num_returns=1, timeout=timeout)
        if not done:
            break
        received_s = time.perf_counter()
        busy.discard(refs[done[0]])
        outcome = _outcome(done[0], refs[done[0]])
        if isinstance(outcome, RankFailure):
            failures.append(outcome)
            give_up_at = give_up_at or time.monotonic() + GRACE_AFTER_FAILURE_S
        else:
            results[refs[done[0]]] = _Answer(timed=outcome, received_s=received_s)
    return results, failures


def _outcome(ref: Any, rank: int) -> Timed | RankFailure:
    try:
        timed: Timed = ray.get(ref)
    except ray.exceptions.RayError as error:
        return RankFailure(rank=rank, cause=f"the process ended: {error}")
    return timed.value if isinstance(timed.value, RankFailure) else timed


def _wait_until_dead(actors: Sequence[Any]) -> None:
    """A call to a killed actor fails as soon as its process is gone."""
    refs = [actor.host.remote() for actor in actors]
    if refs:
        ray.wait(refs, num_returns=len(refs), timeout=CLOSE_TIMEOUT_S)
