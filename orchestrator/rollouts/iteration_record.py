"""The record of an iteration for the server: its books, and the rollouts that are recorded with their fates. Pure.

    groups ──► choose: which are recorded ──► mark their items ──► cut into steps ──► iteration_message

Called by the loop. A rollout that waits takes its mark along, so that a later iteration can tell what came of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

import numpy as np
import numpy.typing as npt

from orchestrator.batching.batch_policy import StepCut
from orchestrator.contracts.recording_spec import RecordingSpec
from orchestrator.contracts.rollout import Group, Rollout
from orchestrator.contracts.rollout_messages import (
    MAX_TEXT_CHARS,
    FateMessage,
    GroupMessage,
    IterationMessage,
    RolloutFate,
    RolloutMessage,
)
from orchestrator.reporting.stopwatch import Stopwatch
from orchestrator.rollouts.rollout_counts import RolloutCounts
from orchestrator.rollouts.rollout_round import RolledOut
from orchestrator.train_items import TrainItem, num_rollouts

TokenPieces = Callable[[Sequence[int]], Sequence[str]]
"""Token ids → the text of each of them."""

REMAINDER = "remainder"
"""Why a rollout is dropped: it fills no step."""
STOPPED = "stopped"
"""Why a rollout is dropped: the run was stopped before its step. An attempt that goes on makes the iteration anew."""

# Together a few megabytes of JSON, far below what the server takes at once.
_MAX_TOKENS = 200_000
_MAX_CHARS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CutIteration:
    """An iteration, from its rollouts to the steps that they make."""

    iteration: int
    rolled: RolledOut
    items: Sequence[TrainItem]
    """Those that waited, then those of this iteration that the filter kept."""
    cut: StepCut
    """Of the items."""
    counts: RolloutCounts
    first_step: int
    """Number of its first step, where it has any."""
    untrained: tuple[int, ...] = ()
    """Items whose step did not come any more."""

    def stopped_after(self, num_steps: int) -> CutIteration:
        """The same iteration, ended by the server's wish after so many of its steps."""
        steps = self.cut.steps[:num_steps]
        untrained = tuple(chain(*self.cut.steps[num_steps:]))
        num_untrained = num_rollouts(self.items[i] for i in untrained)
        return replace(
            self,
            cut=replace(self.cut, steps=steps),
            counts=replace(self.counts, num_dropped=self.counts.num_dropped + num_untrained),
            untrained=untrained,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fate:
    fate: RolloutFate
    reason: str | None = None
    step: int | None = None
    age: int = 0


class IterationRecorder:
    """Makes the records of a run's iterations."""

    def __init__(self, recording: RecordingSpec, *, pieces: TokenPieces) -> None:
        self._recording = recording
        self._pieces = pieces

    def mark(self, items: Iterable[TrainItem], groups: Sequence[Group]) -> list[TrainItem]:
        """The items of these groups, marked where their group is recorded."""
        recorded = {group.group_id for group in self._recorded(groups)}
        return [replace(item, is_recorded=item.shape.group_id in recorded) for item in items]

    def message(self, done: CutIteration, since: Stopwatch) -> IterationMessage:
        """The record of an iteration that is over. since: when it began."""
        counts, fates = done.counts, _fates(done)
        recorded = self._recorded(done.rolled.groups)
        of_rollout = {item.shape.rollout_id: item for item in done.items}
        limits = self._limits(recorded)
        return IterationMessage(
            iteration=done.iteration,
            started_at=since.started_at,
            ended_at=since.started_at + timedelta(seconds=since.seconds),
            first_step=done.first_step if done.cut.steps else None,
            num_steps=len(done.cut.steps),
            num_refills=done.rolled.num_refills,
            num_carried_in=counts.num_carried_in,
            num_generated=counts.num_generated,
            filtered=dict(Counter(filtered.reason.value for filtered in done.rolled.filtered.filtered)),
            dropped=_dropped(done),
            num_trained=counts.num_trained,
            num_carried_out=counts.num_carried_out,
            num_groups=len(done.rolled.groups),
            groups=tuple(self._group(group, fates, of_rollout, limits) for group in recorded),
            waited=_waited(done.items, fates),
        )

    def _recorded(self, groups: Sequence[Group]) -> Sequence[Group]:
        """So many as the spec says, spread evenly over all."""
        wanted = self._recording.groups_per_iteration
        count = len(groups) if wanted is None else min(wanted, len(groups))
        return [groups[k * len(groups) // count] for k in range(count)]

    def _limits(self, groups: Sequence[Group]) -> tuple[int, int]:
        """Most tokens and characters of a rollout, so that the message stays small enough to be sent."""
        num_rollouts = max(1, sum(len(group.rollouts) for group in groups))
        tokens = min(self._recording.tokens_per_rollout, _MAX_TOKENS // num_rollouts)
        return tokens, min(MAX_TEXT_CHARS, _MAX_CHARS // num_rollouts)

    def _group(
        self,
        group: Group,
        fates: Mapping[str, _Fate],
        items: Mapping[str, TrainItem],
        limits: tuple[int, int],
    ) -> GroupMessage:
        prompt = group.prompt
        return GroupMessage(
            group_id=group.group_id,
            task=prompt.task[:200],
            prompt=_storable(prompt.text[: limits[1]]),
            answer=_storable(prompt.answer[: limits[1]]),
            num_prompt_tokens=len(prompt.token_ids),
            rollouts=tuple(
                self._rollout(rollout, fates[rollout.rollout_id], items.get(rollout.rollout_id), limits)
                for rollout in group.rollouts
            ),
        )

    def _rollout(
        self, rollout: Rollout, fate: _Fate, item: TrainItem | None, limits: tuple[int, int]
    ) -> RolloutMessage:
        max_tokens, max_chars = limits
        completion = rollout.completion
        return RolloutMessage(
            rollout_id=rollout.rollout_id,
            fate=fate.fate,
            reason=fate.reason,
            step=fate.step,
            age=fate.age,
            text=_storable(rollout.text[:max_chars]),
            num_tokens=len(completion.token_ids),
            truncated=completion.truncated,
            reward=rollout.reward,
            advantage=None if item is None else item.advantage,
            first_policy_version=completion.policy_version,
            last_policy_version=completion.policy_version,
            pieces=tuple(map(_storable, self._pieces(completion.token_ids[:max_tokens].tolist()))),
            log_probs=_rounded(completion.log_probs[:max_tokens]),
            trainer_log_probs=_rounded(None if item is None else item.trainer_log_probs, max_tokens),
        )


def _fates(done: CutIteration) -> dict[str, _Fate]:
    """What became of every rollout that the iteration had, by its id."""
    fates = {
        filtered.rollout.rollout_id: _Fate(fate=RolloutFate.FILTERED, reason=filtered.reason.value)
        for filtered in done.rolled.filtered.filtered
    }

    def put(indices: Iterable[int], fate: RolloutFate, *, reason: str | None = None, step: int | None = None) -> None:
        for item in (done.items[i] for i in indices):
            fates[item.shape.rollout_id] = _Fate(fate=fate, reason=reason, step=step, age=item.age)

    for k, indices in enumerate(done.cut.steps):
        put(indices, RolloutFate.TRAINED, step=done.first_step + k)
    put(done.cut.dropped, RolloutFate.DROPPED, reason=REMAINDER)
    put(done.untrained, RolloutFate.DROPPED, reason=STOPPED)
    put(done.cut.carried, RolloutFate.CARRIED)
    return fates


def _dropped(done: CutIteration) -> dict[str, int]:
    """Rollouts that are given up, by reason."""
    num_untrained = num_rollouts(done.items[i] for i in done.untrained)
    counts = {REMAINDER: done.counts.num_dropped - num_untrained, STOPPED: num_untrained}
    return {reason: count for reason, count in counts.items() if count}


def _waited(items: Iterable[TrainItem], fates: Mapping[str, _Fate]) -> tuple[FateMessage, ...]:
    """The fates of recorded rollouts that earlier iterations generated."""
    recorded = dict.fromkeys(item.shape.rollout_id for item in items if item.age and item.is_recorded)
    found = ((rollout_id, fates[rollout_id]) for rollout_id in recorded)
    return tuple(
        FateMessage(rollout_id=rollout_id, fate=fate.fate, reason=fate.reason, step=fate.step, age=fate.age)
        for rollout_id, fate in found
    )


def _storable(text: str) -> str:
    """An untrained policy writes NUL as well, which no database takes as text: the sign for what is no character."""
    return text.replace("\0", "\ufffd")


def _rounded(log_probs: npt.NDArray[np.float32] | None, max_tokens: int | None = None) -> tuple[float, ...]:
    """To what float32 can tell; empty where they are not known, or not numbers that JSON has."""
    told = [] if log_probs is None else log_probs[:max_tokens].tolist()
    return tuple(round(value, 6) for value in told) if all(map(math.isfinite, told)) else ()
