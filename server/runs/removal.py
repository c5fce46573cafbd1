"""Removes deleted runs, little by little, so that nobody who records waits. A thread of the server; goes on at start.

DELETE ──► run is hidden ──► a time in which it can be restored ──► rows in chunks ──► the run's row ──► its directory
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, select, tuple_, update

from server.database.engine import Database
from server.database.tables import (
    attempts,
    checkpoints,
    events,
    idempotency_keys,
    iterations,
    log_lines,
    metric_names,
    points,
    pruned_records,
    rollout_fates,
    rollout_groups,
    rollout_tokens,
    rollouts,
    rollups,
    run_tags,
    runs,
    schedules,
    steps,
    system_samples,
    timelines,
)
from server.database.writer import Transaction, Writer
from server.errors import BusyError

log = logging.getLogger(__name__)

_CHUNK_ROWS = 5_000
_PAUSE_S = 0.02
"""Between two chunks."""
_BY_RUN = (
    *(rollout_tokens, log_lines, rollups, schedules, timelines, rollouts, rollout_groups, rollout_fates, iterations),
    *(steps, system_samples, checkpoints, events),
)
"""Tables whose rows name their run, the largest first."""
_RETRY_S = 5.0


class RunRemover:
    """One per server. `wake` it when a run was deleted."""

    def __init__(self, database: Database, writer: Writer, run_dir: Callable[[str], Path], *, grace: timedelta) -> None:
        """grace: for so long a deletion can be taken back."""
        self._grace = grace
        self._database = database
        self._writer = writer
        self._run_dir = run_dir
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="run-remover", daemon=True)

    def start(self) -> None:
        self._wake.set()
        self._thread.start()

    def wake(self) -> None:
        """Look for deleted runs now. Safe from any thread; never blocks."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread after its present chunk. What is left of a run is removed by the next server."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _work(self) -> None:
        next_due_s: float | None = None
        while not self._stop.is_set():
            self._wake.wait(next_due_s)
            if self._stop.is_set():
                return
            self._wake.clear()
            try:
                due, next_due_s = self._due()
                for key, run_id in due:
                    if self._begin(key) and self._remove(key):
                        shutil.rmtree(self._run_dir(run_id), ignore_errors=True)
                        log.info("run %s is removed", run_id)
            except BusyError:
                self._again()
            except Exception:
                log.exception("could not remove deleted runs; the next try is in %.0f s", _RETRY_S)
                self._again()

    def _again(self) -> None:
        self._stop.wait(_RETRY_S)
        self._wake.set()

    def _due(self) -> tuple[list[tuple[int, str]], float | None]:
        """Deleted runs whose time is over, and the seconds until the next one's is; None: there is no other."""
        with self._database.read() as connection:
            deleted = select(runs.c.key, runs.c.id, runs.c.deleted_at).where(runs.c.deleted_at.is_not(None))
            rows = connection.execute(deleted).all()
        now = datetime.now(UTC)
        due = [(row.key, row.id) for row in rows if row.deleted_at + self._grace <= now]
        left_s = [(row.deleted_at + self._grace - now).total_seconds() for row in rows]
        return due, min((seconds for seconds in left_s if seconds > 0), default=None)

    def _begin(self, run_key: int) -> bool:
        """Make the deletion final. Whether it still stood."""

        def work(transaction: Transaction) -> bool:
            still = (runs.c.key == run_key, runs.c.deleted_at <= datetime.now(UTC) - self._grace)
            begun = update(runs).where(*still).values(removal_began_at=datetime.now(UTC))
            return transaction.connection.execute(begun).rowcount > 0

        return self._writer.run(work)

    def _remove(self, run_key: int) -> bool:
        """Whether nothing of the run is left in the database."""
        while not self._stop.is_set():
            if self._writer.run(lambda transaction: _remove_chunk(transaction, run_key)):
                return True
            self._stop.wait(_PAUSE_S)
        return False


def _remove_chunk(transaction: Transaction, run_key: int) -> bool:
    """Remove a few thousand rows, or the last ones. Whether these were the last."""
    connection = transaction.connection
    mine = select(metric_names.c.id).where(metric_names.c.run_key == run_key)
    for table, condition in (
        (points, points.c.metric_id.in_(mine)),
        *((table, table.c.run_key == run_key) for table in _BY_RUN),
    ):
        if _delete_some(connection, table, condition):
            return False
    run_id = connection.scalar(select(runs.c.id).where(runs.c.key == run_key))
    connection.execute(delete(idempotency_keys).where(idempotency_keys.c.run_id == run_id))
    for table in (metric_names, run_tags, pruned_records, attempts):
        connection.execute(delete(table).where(table.c.run_key == run_key))
    connection.execute(delete(runs).where(runs.c.key == run_key))
    return True


def _delete_some(connection: Connection, table: Table, condition: Any) -> bool:
    """Whether there was anything to delete."""
    key = list(table.primary_key.columns)
    chosen = select(*key).where(condition).limit(_CHUNK_ROWS)
    place = key[0] if len(key) == 1 else tuple_(*key)
    return connection.execute(delete(table).where(place.in_(chosen))).rowcount > 0
