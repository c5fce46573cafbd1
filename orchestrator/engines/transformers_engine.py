"""The embedded engine: replicas of the policy in Ray actors, which share the prompts of an iteration.

    driver ── groups and their random numbers ──► replica 0 … n−1 ── completions ──► in the order of the prompts

Implements `RolloutEngine`. The driver imports no torch.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import ray

from orchestrator.contracts.rollout import Completion, Sampling
from trainer.contracts.actor_environment import actor_environment
from trainer.contracts.policy_trainer import Weights
from trainer.contracts.process_log import failures_logged, write_process_log
from trainer.contracts.progress import log as progress_log
from trainer.contracts.span import Activity, ActorSpans, RemoteClock, Span, Timed

_CLOSE_TIMEOUT_S = 10.0

_MAX_SPANS = 1_000
"""Of each replica, for a caller that never asks for them."""


class EngineError(Exception):
    """The engine cannot go on: a replica died or raised."""


class Replica:
    """The process of one replica."""

    def __init__(
        self, number: int, hf_config: Mapping[str, Any], options: Mapping[str, Any], log_directory: Path | None
    ) -> None:
        if log_directory is not None:
            write_process_log(log_directory, f"engine {number}")
        with failures_logged("starting"):
            self._start(hf_config, options)

    def _start(self, hf_config: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        progress_log.info("importing torch and transformers")
        # Imported here, in the actor: the driver does without torch.
        from orchestrator.engines.generator import Generator

        progress_log.info("building the model")
        self._generator = Generator(hf_config, **options)
        progress_log.info("ready")

    def ready(self) -> None:
        """Answers when the replica has been built."""

    def set_weights(self, weights: Weights, policy_version: int) -> Timed:
        return _timed(Activity.PUSH, self._generator.set_weights, weights, policy_version)

    def generate(
        self, prompts: Sequence[tuple[int, ...]], uniforms: npt.NDArray[np.float64], temperature: float
    ) -> Timed:
        """A `Timed` list of completions."""
        return _timed(Activity.GENERATE, self._generator.generate, prompts, uniforms, temperature)


class TransformersEngine:
    """Replicas that end with the driver. Needs a Ray that is already initialised."""

    def __init__(
        self,
        hf_config: Mapping[str, Any],
        *,
        replicas: int,
        eos_id: int,
        pad_id: int,
        threads_per_replica: int = 1,
        log_directory: Path | None = None,
    ) -> None:
        """Start the replicas; each waits for its first weights.

        hf_config: the model's config.json.
        threads_per_replica: several busy processes with several threads each slow each other down to a crawl.
        log_directory: where each replica writes its log; None leaves it where Ray puts it.
        """
        options = {"eos_id": eos_id, "pad_id": pad_id, "num_threads": threads_per_replica}
        # No CPU is reserved: in sync mode a replica works only while the trainer's ranks wait, on the same cores.
        actor_class = ray.remote(Replica).options(
            num_cpus=0,
            max_restarts=0,
            runtime_env={"env_vars": actor_environment(threads_per_replica)},
        )
        self._actors = [actor_class.remote(k, dict(hf_config), options, log_directory) for k in range(replicas)]
        self._clocks = [RemoteClock() for _ in self._actors]
        self._busy: set[int] = set()
        self.generated_tokens_per_s: float | None = None
        """Of all replicas over the last generation; None before it."""
        self._spans: defaultdict[int, deque[Span]] = defaultdict(lambda: deque(maxlen=_MAX_SPANS))

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> Sequence[Completion]:
        """One completion for each prompt, the same for any number of replicas up to rounding.

        Raises:
            EngineError: a replica died or raised.
        """
        uniforms = np.random.default_rng(sampling.seed).random((len(prompts), sampling.max_new_tokens))
        shares = share_out(prompts, len(self._actors))
        sent_s = time.perf_counter()
        calls = {
            actor.generate.remote([tuple(prompts[i]) for i in share], uniforms[share], sampling.temperature): k
            for k, (actor, share) in enumerate(zip(self._actors, shares, strict=True))
            if share
        }
        completions: dict[int, Completion] = {}
        for k, results in self._wait_for(calls, sent_s).items():
            completions.update(zip(shares[k], results, strict=True))
        num_tokens = sum(len(completion.token_ids) for completion in completions.values())
        self.generated_tokens_per_s = num_tokens / (time.perf_counter() - sent_s)
        return [completions[i] for i in range(len(prompts))]

    def push_weights(self, weights: Weights, policy_version: int) -> None:
        """Generate with these weights from now on.

        Raises:
            EngineError: a replica died, or the weights are not those of the model.
        """
        in_store = ray.put(dict(weights))
        sent_s = time.perf_counter()
        calls = {actor.set_weights.remote(in_store, policy_version): k for k, actor in enumerate(self._actors)}
        self._wait_for(calls, sent_s)

    def busy(self) -> list[str]:
        """The replicas that a call waits for. Any thread may ask."""
        return [f"engine {k}" for k in sorted(self._busy)]

    def take_spans(self) -> ActorSpans:
        spans = {f"engine {k}": list(of_replica) for k, of_replica in sorted(self._spans.items())}
        self._spans.clear()
        return spans

    def close(self) -> None:
        """End the replicas, and wait until they are gone. Safe to call twice."""
        actors, self._actors = self._actors, []
        if not actors or not ray.is_initialized():
            return
        for actor in actors:
            ray.kill(actor)
        # A call to an actor that was killed fails as soon as its process is gone.
        calls = [actor.ready.remote() for actor in actors]
        ray.wait(calls, num_returns=len(calls), timeout=_CLOSE_TIMEOUT_S)

    def _wait_for(self, calls: Mapping[Any, int], sent_s: float) -> dict[int, Any]:
        """What each replica answers, by its number."""
        values: dict[int, Any] = {}
        self._busy = set(calls.values())
        pending = list(calls)
        while pending:
            (done, *_), pending = ray.wait(pending, num_returns=1)
            received_s, k, timed = time.perf_counter(), calls[done], _get(done)
            self._busy.discard(k)
            self._clocks[k].observe(timed, sent_s=sent_s, received_s=received_s)
            self._spans[k].extend(map(self._clocks[k].here, timed.spans))
            values[k] = timed.value
        return values


def share_out(prompts: Sequence[Sequence[int]], replicas: int) -> list[list[int]]:
    """Indices of the prompts of each replica. A group stays together, so that its prompt is read only once."""
    groups = [list(group) for _, group in groupby(range(len(prompts)), key=lambda i: tuple(prompts[i]))]
    shares: list[list[int]] = [[] for _ in range(replicas)]
    # Long prompts first, dealt out in turn: replicas finish together, and each pads little.
    for k, group in enumerate(sorted(groups, key=lambda group: -len(prompts[group[0]]))):
        shares[k % replicas].extend(group)
    return shares


def _timed(activity: Activity, work: Callable[..., Any], *arguments: Any) -> Timed:
    """Do it, in the replica's process."""
    began_s = time.perf_counter()
    with failures_logged(activity):
        value = work(*arguments)
    ended_s = time.perf_counter()
    span = Span(activity=activity, start_s=began_s, end_s=ended_s)
    return Timed(value=value, began_s=began_s, ended_s=ended_s, spans=(span,))


def _get(call: Any) -> Timed:
    try:
        timed: Timed = ray.get(call)
    except ray.exceptions.RayTaskError as error:
        raise EngineError(f"an engine replica raised: {error.cause!r}") from error
    except ray.exceptions.RayActorError as error:
        raise EngineError(f"an engine replica died: {error}") from error
    return timed
