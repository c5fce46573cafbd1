"""The embedded engine: replicas of the policy in Ray actors, which share the prompts of an iteration.

    driver ── groups and their random numbers ──► replica 0 … n−1 ── completions ──► in the order of the prompts

Implements `RolloutEngine`. The driver imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import ray

from orchestrator.contracts.rollout import Completion, Sampling
from trainer.contracts.policy_trainer import Weights

_CLOSE_TIMEOUT_S = 10.0


class EngineError(Exception):
    """The engine cannot go on: a replica died or raised."""


class Replica:
    """The process of one replica."""

    def __init__(self, hf_config: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        # Imported here, in the actor: the driver does without torch.
        from orchestrator.engines.generator import Generator

        self._generator = Generator(hf_config, **options)

    def ready(self) -> None:
        """Answers when the replica has been built."""

    def set_weights(self, weights: Weights, policy_version: int) -> None:
        self._generator.set_weights(weights, policy_version)

    def generate(
        self, prompts: Sequence[tuple[int, ...]], uniforms: npt.NDArray[np.float64], temperature: float
    ) -> list[Completion]:
        return self._generator.generate(prompts, uniforms, temperature)


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
    ) -> None:
        """Start the replicas; each waits for its first weights.

        hf_config: the model's config.json.
        threads_per_replica: several busy processes with several threads each slow each other down to a crawl.
        """
        options = {"eos_id": eos_id, "pad_id": pad_id, "num_threads": threads_per_replica}
        # No CPU is reserved: in sync mode a replica works only while the trainer's ranks wait, on the same cores.
        actor_class = ray.remote(Replica).options(
            num_cpus=0,
            max_restarts=0,
            runtime_env={"env_vars": {"OMP_NUM_THREADS": str(threads_per_replica)}},
        )
        self._actors = [actor_class.remote(dict(hf_config), options) for _ in range(replicas)]

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> Sequence[Completion]:
        """One completion for each prompt, the same for any number of replicas up to rounding.

        Raises:
            EngineError: a replica died or raised.
        """
        uniforms = np.random.default_rng(sampling.seed).random((len(prompts), sampling.max_new_tokens))
        shares = share_out(prompts, len(self._actors))
        calls = [
            actor.generate.remote([tuple(prompts[i]) for i in share], uniforms[share], sampling.temperature)
            for actor, share in zip(self._actors, shares, strict=True)
            if share
        ]
        completions: dict[int, Completion] = {}
        for share, results in zip((share for share in shares if share), _wait_for(calls), strict=True):
            completions.update(zip(share, results, strict=True))
        return [completions[i] for i in range(len(prompts))]

    def push_weights(self, weights: Weights, policy_version: int) -> None:
        """Generate with these weights from now on.

        Raises:
            EngineError: a replica died, or the weights are not those of the model.
        """
        in_store = ray.put(dict(weights))
        _wait_for([actor.set_weights.remote(in_store, policy_version) for actor in self._actors])

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


def share_out(prompts: Sequence[Sequence[int]], replicas: int) -> list[list[int]]:
    """Indices of the prompts of each replica. A group stays together, so that its prompt is read only once."""
    groups = [list(group) for _, group in groupby(range(len(prompts)), key=lambda i: tuple(prompts[i]))]
    shares: list[list[int]] = [[] for _ in range(replicas)]
    # Long prompts first, dealt out in turn: replicas finish together, and each pads little.
    for k, group in enumerate(sorted(groups, key=lambda group: -len(prompts[group[0]]))):
        shares[k % replicas].extend(group)
    return shares


def _wait_for(calls: Sequence[Any]) -> list[Any]:
    try:
        return list(ray.get(list(calls)))
    except ray.exceptions.RayTaskError as error:
        raise EngineError(f"an engine replica raised: {error.cause!r}") from error
    except ray.exceptions.RayActorError as error:
        raise EngineError(f"an engine replica died: {error}") from error
