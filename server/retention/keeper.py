"""Takes away what is older than the limits keep, little by little, so that nobody who records waits.

A thread of the server. Each chunk is one short transaction with the note of what it took.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from server.database.engine import Database
from server.database.writer import Transaction, Writer
from server.errors import BusyError
from server.retention import queries
from server.retention.limits import RecordKind, RetentionLimits
from server.retention.queries import Due, WatchedRun

log = logging.getLogger(__name__)

_ROUND_S = 60.0
_PAUSE_S = 0.05
"""Between two chunks."""


class RetentionKeeper:
    """One per server."""

    def __init__(
        self,
        database: Database,
        writer: Writer,
        limits: RetentionLimits,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._writer = writer
        self._limits = limits
        self._now = now
        self._seen: dict[int, object] = {}
        """The mark of each run when nothing was left to do for it."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="retention", daemon=True)

    @property
    def limits(self) -> RetentionLimits:
        return self._limits

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its present chunk."""
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """One round over all runs that have changed since the last one; runs that are old get older, too."""
        with self._database.read() as connection:
            watched = queries.watched_runs(connection)
        today = self._now().date()
        for run in watched:
            if self._stop.is_set():
                return
            if self._seen.get(run.key) != (run.mark, today):
                self._prune_run(run)
                self._seen[run.key] = (run.mark, today)
        gone = self._seen.keys() - {run.key for run in watched}
        for key in gone:
            del self._seen[key]

    def _work(self) -> None:
        while not self._stop.wait(_ROUND_S):
            try:
                self.look()
            except BusyError:
                log.info("retention waits: the database has enough to do")
            except Exception:
                log.exception("a round of retention failed; the next one is in %.0f s", _ROUND_S)

    def _prune_run(self, run: WatchedRun) -> None:
        for kind in RecordKind:
            kept = self._limits.of(kind)
            if kept is None:
                continue
            with self._database.read() as connection:
                found = queries.due(connection, run, kind, kept, self._now())
            if found is not None:
                self._prune(run.key, found)

    def _prune(self, run_key: int, due: Due) -> None:
        def work(transaction: Transaction) -> int:
            count = due.prune(transaction.connection, due.chunk)
            if count:
                queries.note_pruned(transaction.connection, run_key, due, count=count, now=self._now())
            return count

        while not self._stop.is_set() and self._writer.run(work) == due.chunk:
            self._stop.wait(_PAUSE_S)
