"""Removes deleted runs, little by little, so that nobody who records waits. A thread of the server; goes on at start.

DELETE ──► run is hidden ──► rows in chunks, the largest tables first ──► the run's row ──► its directory
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, select, tuple_

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

    def __init__(self, database: Database, writer: Writer, run_dir: Callable[[str], Path]) -> None:
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
        while self._wake.wait() and not self._stop.is_set():
            self._wake.clear()
            try:
                for key, run_id in self._deleted():
                    if self._remove(key):
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

    def _deleted(self) -> list[tuple[int, str]]:
        with self._database.read() as connection:
            rows = connection.execute(select(runs.c.key, runs.c.id).where(runs.c.deleted_at.is_not(None)))
            return [(row.key, row.id) for row in rows]

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
    for table in (metric_names, run_tags, attempts):
        connection.execute(delete(table).where(table.c.run_key == run_key))
    connection.execute(delete(runs).where(runs.c.key == run_key))
    return True


def _delete_some(connection: Connection, table: Table, condition: Any) -> bool:
    """Whether there was anything to delete."""
    key = list(table.primary_key.columns)
    chosen = select(*key).where(condition).limit(_CHUNK_ROWS)
    place = key[0] if len(key) == 1 else tuple_(*key)
    return connection.execute(delete(table).where(place.in_(chosen))).rowcount > 0
