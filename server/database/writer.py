"""The only way to change the database: one thread that takes work from a queue and commits it in groups.

    submit(work) ──► queue ──► [ BEGIN · work · work · work · COMMIT ] ──► after-commit calls ──► futures answer

Each piece of work runs in a savepoint of its own, unless it has the transaction for itself: one that fails is undone
alone. Work of one kind that waits is given together, and piece by piece when it fails. Nobody is answered before the
commit.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from server.errors import BusyError

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = TypeVar("Item")
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
JointWork = Callable[[Transaction, Sequence[Item]], Sequence[T]]
"""Takes the items of several callers and answers each, in their order. When it raises, it is given them one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    work: JointWork[Any, Any]
    item: Any
    future: Future[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What is left to do after the commit."""

    calls: list[Callable[[], None]] = field(default_factory=list)
    answers: list[Callable[[], None]] = field(default_factory=list)


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
        whole = self._beside(work)
        return self._put(lambda transaction, _: [whole(transaction)], None)

    def run(self, work: Work[T]) -> T:
        """Queue the work and wait until it is committed. Raises what the work raised."""
        return self.submit(work).result()

    def run_jointly(self, work: JointWork[Item, T], item: Item) -> T:
        """As `run`, of work that takes what waits for it in few statements. Nothing is added beside it."""
        future: Future[T] = self._put(work, item)
        return future.result()

    def _put(self, work: JointWork[Any, T], item: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            self._queue.put_nowait(_Job(work=work, item=item, future=future))
        except queue.Full:
            raise BusyError(f"{self._queue.maxsize} writes are waiting") from None
        return future

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
        done = _Done()
        try:
            with self._engine.begin() as connection:
                for _, same in groupby(jobs, key=attrgetter("work")):
                    _work_off(connection, list(same), done, shared=len(jobs) > 1)
        except Exception as error:
            log.exception("could not commit a group of %d writes", len(jobs))
            for job in jobs:
                job.future.set_exception(error)
            return
        for call in done.calls:
            try:
                call()
            except Exception:
                log.exception("a call after a commit failed")
        for answer_caller in done.answers:
            answer_caller()


def _work_off(connection: Connection, jobs: Sequence[_Job], done: _Done, *, shared: bool) -> None:
    """Do the jobs, which are of one kind, together; when that fails, each alone."""
    transaction = Transaction(connection=connection)
    try:
        with _undone_alone(connection, shared=shared):
            answers = jobs[0].work(transaction, [job.item for job in jobs])
    except Exception as error:  # the caller gets it
        if connection.invalidated:
            raise
        if len(jobs) == 1:
            done.answers.append(partial(jobs[0].future.set_exception, error))
            return
        for job in jobs:
            _work_off(connection, [job], done, shared=shared)
    else:
        done.answers.extend(partial(job.future.set_result, told) for job, told in zip(jobs, answers, strict=True))
        done.calls.extend(transaction._after_commit)


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
