"""The only way to change the database: one thread that takes work from a queue and commits it in groups.

    submit(work) ──► queue ──► [ BEGIN · work · work · work · COMMIT ] ──► after-commit calls ──► futures answer

Each piece of work runs in a savepoint of its own, unless it has the transaction for itself: one that fails is undone
alone. Nobody is answered before the commit.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from server.errors import BusyError

log = logging.getLogger(__name__)

T = TypeVar("T")
_MAX_GROUP = 256


@dataclass(slots=True, kw_only=True)
class Transaction:
    """What a piece of work is given."""

    connection: Connection
    _after_commit: list[Callable[[], None]] = field(default_factory=list)

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this once the work is durable, in the order of the commits. It must be quick and must not raise."""
        self._after_commit.append(call)


Work = Callable[[Transaction], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    work: Work[Any]
    future: Future[Any]


class Writer:
    """One thread with one connection. Start it before use; `stop` finishes what is queued."""

    def __init__(
        self, engine: Engine, *, capacity: int, beside: Callable[[Work[Any]], Work[Any]] | None = None
    ) -> None:
        """beside: adds to a piece of work what belongs into its savepoint; called in the thread that queues it."""
        self._engine = engine
        self._beside = beside or (lambda work: work)
        self._queue: queue.Queue[_Job | None] = queue.Queue(maxsize=capacity)
        self._thread = threading.Thread(target=self._loop, name="database-writer", daemon=True)

    @property
    def num_queued(self) -> int:
        """Pieces of work that wait."""
        return self._queue.qsize()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue the work. Raises BusyError when the queue is full."""
        future: Future[T] = Future()
        try:
            self._queue.put_nowait(_Job(work=self._beside(work), future=future))
        except queue.Full:
            raise BusyError(f"{self._queue.maxsize} writes are waiting") from None
        return future

    def run(self, work: Work[T]) -> T:
        """Queue the work and wait until it is committed. Raises what the work raised."""
        return self.submit(work).result()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            jobs = [first]
            ended = False
            while len(jobs) < _MAX_GROUP:
                try:
                    job = self._queue.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    ended = True
                    break
                jobs.append(job)
            self._commit_group(jobs)
            if ended:
                return

    def _commit_group(self, jobs: list[_Job]) -> None:
        settle: list[Callable[[], None]] = []
        calls: list[Callable[[], None]] = []
        try:
            with self._engine.begin() as connection:
                for job in jobs:
                    transaction = Transaction(connection=connection)
                    try:
                        with _undone_alone(connection, shared=len(jobs) > 1):
                            answer = job.work(transaction)
                    except Exception as error:  # the caller gets it
                        if connection.invalidated:
                            raise
                        settle.append(partial(job.future.set_exception, error))
                    else:
                        settle.append(partial(job.future.set_result, answer))
                        calls.extend(transaction._after_commit)
        except Exception as error:
            log.exception("could not commit a group of %d writes", len(jobs))
            for job in jobs:
                job.future.set_exception(error)
            return
        for call in calls:
            try:
                call()
            except Exception:
                log.exception("a call after a commit failed")
        for answer_caller in settle:
            answer_caller()


@contextmanager
def _undone_alone(connection: Connection, *, shared: bool) -> Iterator[None]:
    """What fails inside is undone, and nothing else of a shared transaction."""
    if shared:
        with connection.begin_nested():
            yield
        return
    try:
        yield
    except Exception:
        if not connection.invalidated:
            connection.rollback()
        raise
