"""The live stream: what commits tell, in frames, to everybody who listens.

    after a commit ──► pending ── at most ten times a second ──► ring of encoded frames ──► a cursor per subscriber
    (any thread)       merged per run          (event loop)       bounded                    behind the ring: resync

Each frame is encoded once, whoever listens, and has the id `epoch-sequence`. A subscriber is a position in the ring: a
slow one costs no memory, and one that falls out of the ring is told to ask the API again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import islice

from starlette.concurrency import run_in_threadpool

from server.live.frames import merge_frames, server_sent_event
from server.live.schemas import CheckpointNews, EventNews, IterationNews, LogNews, News, StepsFrame
from server.runs.schemas import RunSummary

log = logging.getLogger(__name__)

_FRAME_S = 0.1
_MAX_ENTRIES = 5_000
_MAX_BYTES = 16 * 1024 * 1024
_AT_ONCE = 32
"""Frames that a stream takes from the ring at a time: one that is not read keeps no more of them from being dropped."""
_MAX_PENDING_STEPS = 20_000
"""With more than this the flusher is stuck, and everybody is told to ask again instead."""
_MAX_TOLD_RUNS = 10_000
_NEWS_NAMES: dict[type[News], str] = {LogNews: "logs", IterationNews: "iteration", CheckpointNews: "checkpoint"}
_MAX_PART_BYTES = 1024 * 1024
"""Of one answer to a poll; its last event may go beyond."""
_RETRY_MS = 1_000
"""How long browsers wait before they connect again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    sequence: int
    run: str | None
    """None: for everybody."""
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePart:
    """Events for one answer."""

    cursor: str
    """Id of the last event that was looked at."""
    events: list[bytes]
    """JSON of each: its name and data."""


class LiveHub:
    """Publish from any thread, subscribe on the event loop that `start` was given."""

    def __init__(
        self,
        summaries: Callable[[list[str]], list[RunSummary]],
        newest_events: Callable[[list[str]], dict[str, int]] = lambda _: {},
    ) -> None:
        """Both read what is known of the runs with these ids; called in a thread, once per frame.

        newest_events: the id of each run's newest event.
        """
        self._summaries = summaries
        self._newest_events = newest_events
        self._told_events: OrderedDict[str, int] = OrderedDict()
        self._epoch = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._changed_runs: dict[str, None] = {}
        self._frames: list[StepsFrame] = []
        self._news: dict[tuple[str, str], News] = {}
        self._num_pending_steps = 0
        self._overflowed = False
        self._ring: deque[_Entry] = deque()
        self._ring_bytes = 0
        self._sequence = 0
        self._closed = False
        self._num_streams = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flusher: asyncio.Task[None] | None = None
        self._pending = asyncio.Event()
        self._arrived = asyncio.Event()

    @property
    def num_streams(self) -> int:
        """Streams that are open now."""
        return self._num_streams

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._flusher = loop.create_task(self._flush_forever())

    def close(self) -> None:
        """End all streams. Safe to call twice, and from a signal handler."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    async def wait_closed(self) -> None:
        """After `close`: until nothing of the hub reads the database any more."""
        if self._flusher is not None:
            await asyncio.wait([self._flusher])

    def run_changed(self, run_id: str) -> None:
        """Tell that a run was made or changed. Safe from any thread."""
        with self._lock:
            self._changed_runs[run_id] = None
        self._call_flusher()

    def ask_again(self) -> None:
        """Tell everybody that something is gone: what they show must be asked for anew. Safe from any thread."""
        with self._lock:
            self._overflowed = True
        self._call_flusher()

    def steps_recorded(self, frame: StepsFrame) -> None:
        """Tell steps that were just recorded. Safe from any thread."""
        with self._lock:
            self._num_pending_steps += len(frame.step)
            if self._num_pending_steps > _MAX_PENDING_STEPS:
                self._overflowed = True
                self._frames.clear()
            else:
                self._frames.append(frame)
        self._call_flusher()

    def tell(self, news: LogNews | IterationNews | CheckpointNews) -> None:
        """Tell that there is something to ask for. Safe from any thread."""
        with self._lock:
            name = _NEWS_NAMES[type(news)]
            self._news[name, news.run] = _joined(self._news.get((name, news.run)), news)
        self._call_flusher()

    def stream(self, *, runs: frozenset[str], after: str | None) -> AsyncGenerator[bytes]:
        """Events as they come, already encoded, until the hub closes.

        runs: only of these runs; empty: of all.
        after: id of the last event that the subscriber has, or None to begin now: at this call, so that whoever was
        told that the stream is open, and then asks the API, misses nothing.
        """
        return self._stream(runs, self._sequence if after is None else self._position_of(after))

    async def poll(self, *, runs: frozenset[str], after: str | None, timeout_s: float) -> LivePart:
        """What came after the last event that a client has, as soon as there is anything; without any, its place now.

        runs: only of these runs; empty: of all. A client that has no event yet gets its place at once.
        """
        position = self._sequence if after is None else self._position_of(after)
        deadline = asyncio.get_running_loop().time() + (0.0 if after is None else timeout_s)
        while True:
            arrived = self._arrived
            entries = None if position is None else self._after(position)
            if position is None or entries is None:
                return LivePart(cursor=self._id(self._sequence), events=[b'{"event":"resync","data":{}}'])
            part, position = _part(entries, runs, position)
            left_s = deadline - asyncio.get_running_loop().time()
            if part or left_s <= 0 or self._closed:
                return LivePart(cursor=self._id(position), events=part)
            with suppress(TimeoutError):
                await asyncio.wait_for(arrived.wait(), left_s)

    async def _stream(self, runs: frozenset[str], position: int | None) -> AsyncGenerator[bytes]:
        self._num_streams += 1
        try:
            async with aclosing(self._events(runs, position)) as events:
                async for data in events:
                    yield data
        finally:
            self._num_streams -= 1

    async def _events(self, runs: frozenset[str], position: int | None) -> AsyncGenerator[bytes]:
        # An id without data sets what a browser sends back after a break, before the first event arrives.
        yield f"retry: {_RETRY_MS}\nid: {self._id(self._sequence if position is None else position)}\n\n".encode()
        while not self._closed:
            arrived = self._arrived
            entries = None if position is None else self._after(position, limit=_AT_ONCE)
            if entries is None:
                position = self._sequence
                yield server_sent_event(event_id=self._id(position), event="resync", data="{}")
                continue
            for entry in entries:
                position = entry.sequence
                if entry.run is None or not runs or entry.run in runs:
                    yield entry.data
            if not entries:
                await arrived.wait()

    def _position_of(self, event_id: str) -> int | None:
        """The sequence number of an id that this process gave, or None."""
        epoch, _, sequence = event_id.rpartition("-")
        if epoch != self._epoch or not (sequence.isascii() and sequence.isdigit()):
            return None
        return int(sequence) if int(sequence) <= self._sequence else None

    def _after(self, position: int, *, limit: int | None = None) -> list[_Entry] | None:
        """What came first after that position, or None when some of it is gone. limit: so many at most."""
        oldest = self._sequence - len(self._ring)
        if position < oldest:
            return None
        begin = position - oldest
        return list(islice(self._ring, begin, None if limit is None else begin + limit))

    def _call_flusher(self) -> None:
        if self._loop is not None and not self._closed:
            self._loop.call_soon_threadsafe(self._pending.set)

    async def _flush_forever(self) -> None:
        while not self._closed:
            await self._pending.wait()
            self._pending.clear()
            try:
                await self._flush()
            except Exception:
                log.exception("could not tell the live stream what changed")
                self._append("resync", "{}", run=None)
            await asyncio.sleep(_FRAME_S)

    async def _flush(self) -> None:
        with self._lock:
            changed, self._changed_runs = list(self._changed_runs), {}
            frames, self._frames = self._frames, []
            news, self._news = self._news, {}
            overflowed, self._overflowed = self._overflowed, False
            self._num_pending_steps = 0
        summaries, newest_events = await run_in_threadpool(self._changed, changed) if changed else ([], {})
        if overflowed:
            self._append("resync", "{}", run=None)
        for frame in _merged(frames):
            self._append("steps", frame.model_dump_json(), run=frame.run)
        for summary in summaries:
            self._append("run", summary.model_dump_json(), run=summary.id)
        for run, up_to in newest_events.items():
            if self._is_new(run, up_to):
                self._append("event", EventNews(run=run, up_to=up_to).model_dump_json(), run=run)
        for (name, run), one in news.items():
            self._append(name, one.model_dump_json(), run=run)
        self._arrived.set()
        self._arrived = asyncio.Event()

    def _changed(self, run_ids: list[str]) -> tuple[list[RunSummary], dict[str, int]]:
        return self._summaries(run_ids), self._newest_events(run_ids)

    def _is_new(self, run: str, up_to: int) -> bool:
        """Whether nobody was told of this event. What was told of runs that have been quiet for long is forgotten."""
        known = self._told_events.pop(run, None)
        self._told_events[run] = up_to
        if len(self._told_events) > _MAX_TOLD_RUNS:
            self._told_events.popitem(last=False)
        return known is None or up_to > known

    def _append(self, event: str, data: str, *, run: str | None) -> None:
        self._sequence += 1
        encoded = server_sent_event(event_id=self._id(self._sequence), event=event, data=data)
        self._ring.append(_Entry(sequence=self._sequence, run=run, data=encoded))
        self._ring_bytes += len(encoded)
        while len(self._ring) > _MAX_ENTRIES or self._ring_bytes > _MAX_BYTES:
            self._ring_bytes -= len(self._ring.popleft().data)

    def _id(self, sequence: int) -> str:
        return f"{self._epoch}-{sequence}"

    def _end(self) -> None:
        self._arrived.set()
        if self._flusher is not None:
            self._flusher.cancel()


def _merged(frames: Iterable[StepsFrame]) -> list[StepsFrame]:
    by_attempt: dict[tuple[str, int], list[StepsFrame]] = {}
    for frame in frames:
        by_attempt.setdefault((frame.run, frame.attempt), []).append(frame)
    return [merge_frames(same) for same in by_attempt.values()]


def _part(entries: Sequence[_Entry], runs: frozenset[str], position: int) -> tuple[list[bytes], int]:
    """The events of these runs that one answer has room for, and the place of the last one that was looked at."""
    events: list[bytes] = []
    size = 0
    for entry in entries:
        if size >= _MAX_PART_BYTES:
            break
        position = entry.sequence
        if entry.run is None or not runs or entry.run in runs:
            _, event, data, *_ = entry.data.split(b"\n")
            events.append(b'{"event":"%s","data":%s}' % (event.removeprefix(b"event: "), data.removeprefix(b"data: ")))
            size += len(entry.data)
    return events, position


def _joined(before: News | None, news: News) -> News:
    """One for both: the later one says all but how many lines there were."""
    if isinstance(before, LogNews) and isinstance(news, LogNews):
        return news.model_copy(update={"num_lines": before.num_lines + news.num_lines})
    return news
