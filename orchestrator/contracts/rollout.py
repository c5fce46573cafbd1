"""Prompts, rollouts, groups, and the ports of the loop: what a source, an engine, a reward and a reporter must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage, StateReport, StepMessage
from orchestrator.contracts.rollout_messages import IterationMessage
from trainer.contracts.policy_trainer import Weights
from trainer.contracts.span import ActorSpans


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question with what is needed to judge an answer."""

    prompt_id: str
    text: str
    token_ids: tuple[int, ...]
    answer: str
    """The right answer, for supervised steps."""
    task: str
    """Name of the task that made it."""
    entry: Mapping[str, Any] = field(repr=False)
    """What the task's verifier wants to have back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What an engine made of one prompt."""

    token_ids: npt.NDArray[np.int64]  # [R], the end-of-sequence token included when it was reached
    log_probs: npt.NDArray[np.float32]  # [R], of the sampling distribution, temperature included
    truncated: bool
    """True when it ended by length, not by the end-of-sequence token."""
    policy_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One execution of the policy on one prompt, judged."""

    rollout_id: str
    completion: Completion
    text: str
    reward: float | None
    """None: unscorable, because the verifier failed. Left out of every mean, and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rollouts of one prompt."""

    group_id: str
    prompt: Prompt
    rollouts: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How an engine draws tokens."""

    max_new_tokens: int
    temperature: float
    """0: always the likeliest token."""
    seed: int
    """Same seed, same prompts, same weights: same completions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """How far a source is in its stream."""

    next_index: int = 0
    """Of the next question to draw."""
    drawn: tuple[int, ...] = ()
    """Questions that were drawn for training and not yet taken."""
    held_out: tuple[int, ...] = ()
    num_left_out: int = 0


class PromptSource(Protocol):
    """An endless stream of prompts; the same seed gives the same stream."""

    def position(self) -> SourcePosition:
        """Where the stream stands."""
        ...

    def go_to(self, position: SourcePosition) -> None:
        """Go on from there, as if everything before it had been taken."""
        ...

    def take(self, count: int) -> Sequence[Prompt]:
        """The next prompts of the stream."""
        ...

    def held_out(self, count: int) -> Sequence[Prompt]:
        """The first `count` prompts that `take` never gives."""
        ...

    @property
    def num_left_out(self) -> int:
        """Prompts so far that were longer than allowed, or that could not be made."""
        ...


class RolloutEngine(Protocol):
    """A copy of the policy that generates."""

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> Sequence[Completion]:
        """One completion for each list of token ids, in order. A group repeats its prompt."""
        ...

    def push_weights(self, weights: Weights, policy_version: int) -> None:
        """Generate with these weights from now on."""
        ...

    def take_spans(self) -> ActorSpans:
        """What the engines did when since this was last asked, by `time.perf_counter` of the calling process."""
        ...

    def close(self) -> None:
        """End the engine's processes. Safe to call twice."""
        ...


class Reward(Protocol):
    """A judge of answers."""

    def score(self, prompt: Prompt, text: str) -> float | None:
        """The reward of an answer, or None when it cannot be judged. Never raises."""
        ...


class Reporter(Protocol):
    """Tells the server. Records are on disk when a call returns; they arrive when the server can be reached."""

    def step(self, message: StepMessage) -> None: ...

    def event(self, message: EventMessage) -> None: ...

    def iteration(self, message: IterationMessage) -> None: ...

    def checkpoint(self, message: CheckpointMessage) -> None: ...

    def activity(self, text: str, *, num_steps: int, total_steps: int | None) -> None:
        """What the next heartbeats say."""
        ...

    @property
    def stop_requested(self) -> bool: ...

    @property
    def pause_requested(self) -> bool: ...

    def wait_while_paused(self) -> None:
        """Return when the server wants the run to go on or to end: at once, unless it wants it to wait."""
        ...

    def finish(self, report: StateReport) -> None:
        """The last record. Returns when the server has everything."""
        ...
