"""An iteration ready to be stored: verified, hashed, compressed. Made in the request's thread, not in the writer's."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from orchestrator.contracts.rollout_messages import FateMessage, GroupMessage, IterationMessage, RolloutFate
from server.database.packing import pack_floats, pack_json
from server.database.tables import is_storable
from server.errors import InvalidError
from server.http.pointers import pointer
from server.ingest.verify import MAX_ADDED, MAX_COUNT, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTokens:
    """The tokens of one rollout as they are stored."""

    pieces: bytes
    log_probs: bytes | None
    trainer_log_probs: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedIteration:
    """One iteration, and what is stored of it beside its columns."""

    message: IterationMessage
    content_hash: bytes
    texts: tuple[bytes, ...]
    """By group: prompt, answer and responses."""
    tokens: tuple[tuple[PackedTokens | None, ...], ...]
    """[group][rollout]; None: not recorded."""


def prepare_iterations(messages: tuple[IterationMessage, ...]) -> list[PreparedIteration]:
    """Verify and prepare the iterations of a batch. Raises InvalidError with everything that is wrong in them."""
    errors = [
        (f"/iterations/{i}{where}", sentence)
        for i, message in enumerate(messages)
        for where, sentence in iteration_findings(message)
    ]
    if errors:
        raise InvalidError(errors)
    return [
        PreparedIteration(
            message=message,
            content_hash=_content_hash(message),
            texts=tuple(_packed_texts(group) for group in message.groups),
            tokens=tuple(_packed_tokens(group) for group in message.groups),
        )
        for message in messages
    ]


def iteration_findings(message: IterationMessage) -> Iterator[Finding]:
    """Everything in which an iteration contradicts itself."""
    yield from _size_findings(message)
    for name in ("started_at", "ended_at"):
        if not is_storable(getattr(message, name)):
            yield f"/{name}", f"is {getattr(message, name)}; check the driver's clock"
    if message.ended_at < message.started_at:
        yield "/ended_at", f"the iteration ends at {message.ended_at}, before it starts at {message.started_at}"
    if (message.first_step is None) != (message.num_steps == 0):
        yield "/first_step", f"is {message.first_step}, but num_steps={message.num_steps}"
    if len(message.groups) > message.num_groups:
        yield "/groups", f"has {len(message.groups)} groups, num_groups={message.num_groups}"
    yield from _id_findings(message)
    yield from _fate_findings(message)


def _size_findings(message: IterationMessage) -> Iterator[Finding]:
    counts: list[tuple[str, int]] = [
        (f"/{name}", getattr(message, name))
        for name in IterationMessage.model_fields
        if isinstance(getattr(message, name), int)
    ]
    for name in ("filtered", "dropped"):
        counts += [(pointer((name, reason)), count) for reason, count in getattr(message, name).items()]
    for where, fate in _fates(message):
        counts += [(f"{where}/{name}", value) for name, value in fate if isinstance(value, int)]
    counts += [(f"/groups/{i}/num_prompt_tokens", group.num_prompt_tokens) for i, group in enumerate(message.groups)]
    for where, count in counts:
        # Counts are added up over iterations; other numbers are places.
        is_added = where.startswith(("/num_", "/filtered/", "/dropped/"))
        most = MAX_ADDED if is_added else MAX_COUNT
        if count > most:
            yield where, f"is {count}; at most {most} can be recorded"


def _id_findings(message: IterationMessage) -> Iterator[Finding]:
    seen: set[str] = set()
    for where, fate in _fates(message):
        if fate.rollout_id in seen:
            yield f"{where}/rollout_id", f"{fate.rollout_id!r} appears twice in the iteration"
        seen.add(fate.rollout_id)


def _fate_findings(message: IterationMessage) -> Iterator[Finding]:
    """What is recorded may be a part of what the books count, and never more."""
    told: Counter[tuple[RolloutFate, str | None]] = Counter()
    for where, fate in _fates(message):
        if (fate.fate is RolloutFate.TRAINED) != (fate.step is not None):
            yield f"{where}/step", f"is {fate.step}, but the rollout is {fate.fate}"
        has_reason = fate.fate in (RolloutFate.FILTERED, RolloutFate.DROPPED)
        told[fate.fate, fate.reason if has_reason else None] += 1
    for (fate_, reason), count in told.items():
        booked = _booked(message, fate_, reason)
        if count > booked:
            name = {RolloutFate.TRAINED: "num_trained", RolloutFate.CARRIED: "num_carried_out"}.get(fate_, fate_)
            why = "" if reason is None else f" for {reason!r}"
            yield f"/{name}", f"the books say {booked} {fate_}{why}, but {count} such rollouts are told"


def _booked(message: IterationMessage, fate: RolloutFate, reason: str | None) -> int:
    match fate:
        case RolloutFate.TRAINED:
            return message.num_trained
        case RolloutFate.CARRIED:
            return message.num_carried_out
        case RolloutFate.FILTERED:
            return message.filtered.get(reason or "", 0)
        case RolloutFate.DROPPED:
            return message.dropped.get(reason or "", 0)


def _fates(message: IterationMessage) -> Iterator[tuple[str, FateMessage]]:
    """Every rollout that is told, with its place in the message."""
    for i, group in enumerate(message.groups):
        for k, rollout in enumerate(group.rollouts):
            yield f"/groups/{i}/rollouts/{k}", rollout
    for i, fate in enumerate(message.waited):
        yield f"/waited/{i}", fate


def _content_hash(message: IterationMessage) -> bytes:
    """The same for two messages that say the same, whatever the order of their reasons."""
    books = orjson.dumps([message.filtered, message.dropped], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(message.model_dump_json(exclude={"filtered", "dropped"}).encode() + books).digest()


def _packed_texts(group: GroupMessage) -> bytes:
    return pack_json([group.prompt, group.answer, [rollout.text for rollout in group.rollouts]])


def _packed_tokens(group: GroupMessage) -> tuple[PackedTokens | None, ...]:
    return tuple(
        PackedTokens(
            pieces=pack_json(rollout.pieces),
            log_probs=pack_floats(rollout.log_probs) if rollout.log_probs else None,
            trainer_log_probs=pack_floats(rollout.trainer_log_probs) if rollout.trainer_log_probs else None,
        )
        if rollout.pieces
        else None
        for rollout in group.rollouts
    )
