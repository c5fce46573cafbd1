"""A step ready to be stored: verified, hashed, compressed. Made in the request's thread: the writer only writes."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from orchestrator.contracts.messages import MetricMessage, StepMessage
from server.database.packing import pack_json
from server.errors import InvalidError
from server.http.pointers import pointer
from server.ingest.verify import Finding, step_findings, with_counts
from trainer.contracts.text_model import TextModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """One step, and what is stored of it beside its columns."""

    index: int
    """Its place in the batch."""
    message: StepMessage
    metrics: dict[str, MetricMessage]
    """By name in NFC: names that look the same are the same."""
    content_hash: bytes
    schedule_blob: bytes | None
    """None: the writer does not know the schedule."""
    timeline_blob: bytes | None

    @property
    def step(self) -> int:
        return self.message.step

    def metric_pointer(self, name: str) -> str:
        """JSON pointer within the batch to a metric of this name in NFC, as its writer spelled it."""
        told = next(told for told in self.message.metrics if unicodedata.normalize("NFC", told) == name)
        return pointer(("steps", self.index, "metrics", told))


def prepare_steps(messages: tuple[StepMessage, ...]) -> list[PreparedStep]:
    """Verify and prepare the steps of a batch. Raises InvalidError with everything that is wrong in any of them."""
    errors: list[tuple[str, str]] = []
    prepared: list[PreparedStep] = []
    for i, message in enumerate(messages):
        metrics = _by_normal_name(message.metrics)
        errors.extend((f"/steps/{i}{at}", sentence) for at, sentence in _two_spellings(message.metrics, metrics))
        found = step_findings(message)
        errors.extend((f"/steps/{i}{pointer}", sentence) for pointer, sentence in found)
        prepared.append(
            PreparedStep(
                index=i,
                message=with_counts(message),
                metrics=metrics,
                content_hash=_content_hash(message),
                schedule_blob=_packed(message.schedule),
                timeline_blob=_packed(message.timeline),
            )
        )
    if errors:
        raise InvalidError(errors)
    return prepared


def _by_normal_name(metrics: dict[str, MetricMessage]) -> dict[str, MetricMessage]:
    if all(map(str.isascii, metrics)):
        return metrics
    return {unicodedata.normalize("NFC", name): metric for name, metric in metrics.items()}


def _two_spellings(told: dict[str, MetricMessage], normal: dict[str, MetricMessage]) -> Iterator[Finding]:
    if len(normal) < len(told):
        seen: set[str] = set()
        for name in told:
            if (known := unicodedata.normalize("NFC", name)) in seen:
                yield pointer(("metrics", name)), f"{known!r} appears twice, in two spellings of the same letters"
            seen.add(known)


def _packed(part: TextModel | None) -> bytes | None:
    return None if part is None else pack_json(part.model_dump_json().encode())


def _content_hash(message: StepMessage) -> bytes:
    """The same for two messages that say the same, whatever the order of their metrics."""
    # By hand, since it is most of a step: what `model_dump` makes of the metrics, several times as fast.
    told = {
        name: {"reduction": metric.reduction.value, "value": metric.value, "weight": metric.weight}
        for name, metric in message.metrics.items()
    }
    metrics = orjson.dumps({"metrics": told}, option=orjson.OPT_SORT_KEYS)
    # Steps that were recorded before there were timelines keep their hashes.
    left_out = {"metrics"} if message.timeline is not None else {"metrics", "timeline"}
    return hashlib.sha256(message.model_dump_json(exclude=left_out).encode() + metrics).digest()
