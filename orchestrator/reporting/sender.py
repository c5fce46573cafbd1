"""The reporter's thread: takes records from the journal, in order, and posts them until the server has them.

    wake ──► heartbeat, when due ──► one batch of records, when due ──► sleep until something is due
                                         │ delivered, refused: acknowledge
                                         │ retry: due again later, and longer each time
                                         └ fenced: the end

It never gives up on a server that is down, and never lets one record that is refused hold up the next.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import httpx

from orchestrator.contracts.messages import DesiredState, Heartbeat
from orchestrator.reporting.delivery import Verdict, retry_after_s, waits_s
from orchestrator.reporting.journal import JournalRecord, RecordKind, RecordQueue
from orchestrator.reporting.post import post

_log = logging.getLogger(__name__)

_HEARTBEAT_EVERY_S = 2.0
_MAX_BATCH_RECORDS = 100
_MAX_BATCH_BYTES = 1_000_000
"""One request stays far below what a server refuses for its size."""


class Sender:
    """Delivers a journal. `run` is the body of the thread; everything else may be called from the driver's."""

    def __init__(
        self,
        *,
        journal: RecordQueue,
        http: httpx.Client,
        run_url: str,
        attempt: int,
        heartbeat: Callable[[], Heartbeat],
    ) -> None:
        self._journal = journal
        self._http = http
        self._run_url = run_url
        self._attempt = attempt
        self._heartbeat = heartbeat
        self._wake = threading.Event()
        self._ended = False
        self._wish = DesiredState.RUN
        self._wish_changed = threading.Condition()
        self._is_paused = False
        self._heartbeat_due = self._batch_due = time.monotonic()
        self._waits: Iterator[float] | None = None
        self._one_by_one_until = 0

    @property
    def stop_requested(self) -> bool:
        """Whether the server wants the attempt to end, or takes nothing more from it."""
        return self._wish is DesiredState.STOP

    @property
    def pause_requested(self) -> bool:
        """Whether the server wants the attempt to wait."""
        return self._wish is DesiredState.PAUSE

    @property
    def is_paused(self) -> bool:
        """Whether the driver waits now."""
        return self._is_paused

    def wait_while_paused(self) -> None:
        """Return when the server wants anything else than a pause, or `end` was called. Heartbeats go on."""
        if not self.pause_requested:
            return
        _log.info("paused, as the server asks")
        self._is_paused = True
        self._beat_soon()
        with self._wish_changed:
            self._wish_changed.wait_for(lambda: self._ended or not self.pause_requested)
        self._is_paused = False
        self._beat_soon()
        _log.info("the pause is over")

    def wake(self) -> None:
        """There is something new in the journal."""
        self._wake.set()

    def end(self) -> None:
        """Leave `run` after the request it is at, whatever is left to send."""
        self._ended = True
        self._wake.set()
        with self._wish_changed:
            self._wish_changed.notify_all()

    def run(self) -> None:
        """Send until the state report is delivered, the attempt is fenced off, or `end` is called."""
        while not self._ended:
            self._wake.clear()
            if time.monotonic() >= self._heartbeat_due:
                self._beat()
            records = self._next_batch() if time.monotonic() >= self._batch_due else []
            if records:
                self._deliver(records)
            elif not self._ended:
                self._sleep()

    def _beat_soon(self) -> None:
        self._heartbeat_due = time.monotonic()
        self._wake.set()

    def _sleep(self) -> None:
        now = time.monotonic()
        due = self._heartbeat_due
        if self._batch_due > now:
            due = min(due, self._batch_due)
        self._wake.wait(max(0.0, due - now))

    def _beat(self) -> None:
        self._heartbeat_due = time.monotonic() + _HEARTBEAT_EVERY_S
        verdict, _ = self._post("heartbeat", self._heartbeat().model_dump(mode="json"))
        if verdict is Verdict.FENCED:
            self._fence_off()

    def _next_batch(self) -> list[JournalRecord]:
        """The next records of one kind, as many as one request may hold."""
        alone = self._journal.acknowledged < self._one_by_one_until
        records = self._journal.unacknowledged(
            max_records=1 if alone else _MAX_BATCH_RECORDS, max_bytes=_MAX_BATCH_BYTES
        )
        batch = list(takewhile(lambda record: record.kind is records[0].kind, records))
        return batch[:1] if batch and batch[0].kind is RecordKind.STATE else batch

    def _deliver(self, records: list[JournalRecord]) -> None:
        if records[0].kind is RecordKind.REFUSED:
            self._journal.acknowledge(records[-1].end)
            return
        path, body = _request(records, self._attempt)
        verdict, answer = self._post(path, body)
        if verdict is Verdict.FENCED and answer is not None and _may_be_unknown(records[0].kind, answer):
            verdict = Verdict.REFUSED
        match verdict:
            case Verdict.DELIVERED:
                self._settle(records)
            case Verdict.REFUSED if len(records) > 1:
                # The server takes a batch all or none: alone, only those it minds are refused.
                self._one_by_one_until = records[-1].end
            case Verdict.REFUSED:
                self._set_aside(records[0], answer)
            case Verdict.RETRY:
                self._try_later(answer)
            case Verdict.FENCED:
                self._fence_off()

    def _settle(self, records: list[JournalRecord]) -> None:
        if self._waits is not None:
            _log.info("the server takes records again")
            self._waits = None
        self._journal.acknowledge(records[-1].end)
        self._ended = self._ended or records[-1].kind is RecordKind.STATE

    def _set_aside(self, record: JournalRecord, answer: httpx.Response | None) -> None:
        reason = f"{answer.status_code} {answer.text}" if answer is not None else "no answer"
        _log.error("the server refused this %s, which stays in the journal: %s", record.kind, reason)
        self._journal.append_refusal(record, reason)
        self._settle([record])

    def _try_later(self, answer: httpx.Response | None) -> None:
        if self._waits is None:
            _log.warning("the server takes no records for now: %s", _in_short(answer))
            self._waits = waits_s()
        asked_s = retry_after_s(answer.headers.get("retry-after")) if answer is not None else None
        self._batch_due = time.monotonic() + max(asked_s or 0.0, next(self._waits))

    def _fence_off(self) -> None:
        _log.error("the server takes nothing more from attempt %d: it ends here", self._attempt)
        self._ended = True
        self._obey(DesiredState.STOP)

    def _post(self, path: str, body: dict[str, Any]) -> tuple[Verdict, httpx.Response | None]:
        posted = post(self._http, f"{self._run_url}/{path}", body)
        if posted.wish is not None:
            self._obey(posted.wish)
        return posted.verdict, posted.answer

    def _obey(self, wish: DesiredState) -> None:
        """Remember what the server wants. A wish to stop is for good."""
        if wish is self._wish or self._wish is DesiredState.STOP:
            return
        _log.info("the server wants this attempt to %s", wish)
        with self._wish_changed:
            self._wish = wish
            self._wish_changed.notify_all()


def _request(records: list[JournalRecord], attempt: int) -> tuple[str, dict[str, Any]]:
    """Path and body of the request that delivers records of one kind."""
    bodies = [record.body for record in records]
    match records[0].kind:
        case RecordKind.STEP:
            return "steps:batch", {"attempt": attempt, "steps": bodies}
        case RecordKind.EVENT:
            return "events:batch", {"attempt": attempt, "events": bodies}
        case RecordKind.ITERATION:
            return "rollouts:batch", {"attempt": attempt, "iterations": bodies}
        case RecordKind.CHECKPOINT:
            return "checkpoints:batch", {"attempt": attempt, "checkpoints": bodies}
        case RecordKind.STATE:
            return "state", bodies[0]
        case RecordKind.REFUSED:
            raise ValueError("refusals stay in the journal")


def _may_be_unknown(kind: RecordKind, answer: httpx.Response) -> bool:
    """Whether the server may only lack this endpoint. If the run is gone, the next heartbeat tells."""
    return answer.status_code == httpx.codes.NOT_FOUND and kind in (RecordKind.ITERATION, RecordKind.CHECKPOINT)


def _in_short(answer: httpx.Response | None) -> str:
    return "no answer" if answer is None else f"{answer.status_code} {answer.text[:200]}"
