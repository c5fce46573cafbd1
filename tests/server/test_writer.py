from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

from server.database.engine import Database
from server.database.writer import JointWork, Transaction, Work, Writer
from server.errors import BusyError
from tests.server.live_server import LiveServer

numbers = Table("numbers", MetaData(), Column("value", Integer, primary_key=True))


@pytest.fixture
def database(tmp_path: Path, database_url: str | None) -> Iterator[Database]:
    opened = Database(database_url or f"sqlite:///{tmp_path / 'w.db'}")
    numbers.metadata.create_all(opened.write_engine)
    yield opened
    opened.close()


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    started = Writer(database.write_engine, capacity=3)
    started.start()
    yield started
    started.stop()


def add(value: int, told: list[int] | None = None) -> Work[int]:
    def work(transaction: Transaction) -> int:
        transaction.connection.execute(insert(numbers).values(value=value))
        if told is not None:
            transaction.after_commit(lambda: told.append(value))
        return value

    return work


def stored(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.scalars(select(numbers.c.value).order_by(numbers.c.value)))


def held(writer: Writer) -> tuple[threading.Event, Future[None]]:
    """Keep the writer busy until the event is set."""
    running, release = threading.Event(), threading.Event()

    def work(_transaction: Transaction) -> None:
        running.set()
        release.wait()

    future = writer.submit(work)
    running.wait()
    return release, future


def add_all(taken: list[list[int]]) -> JointWork[int, int]:
    """taken: what it is given at once."""

    def work(transaction: Transaction, values: Sequence[int]) -> list[int]:
        taken.append(list(values))
        transaction.connection.execute(insert(numbers), [{"value": value} for value in values])
        return [10 * value for value in values]

    return work


def jointly(writer: Writer, work: JointWork[int, int], values: Sequence[int]) -> list[Future[int]]:
    """Queue the values in their order while the writer is busy, then let it go on."""
    release, _ = held(writer)
    with ThreadPoolExecutor(len(values)) as pool:
        futures = []
        for i, value in enumerate(values):
            futures.append(pool.submit(writer.run_jointly, work, value))
            while writer.num_queued <= i:
                time.sleep(0.001)
        release.set()
    return futures


def test_an_answer_comes_after_the_commit(database: Database, writer: Writer) -> None:
    assert writer.run(add(1)) == 1
    assert stored(database) == [1]


def test_one_that_fails_in_a_group_is_undone_alone(database: Database, writer: Writer) -> None:
    told: list[int] = []
    release, _ = held(writer)
    futures = [writer.submit(add(value, told)) for value in (1, 1, 2)]
    release.set()
    assert futures[0].result() == 1
    with pytest.raises(Exception, match=r"(?i)unique"):
        futures[1].result()
    assert futures[2].result() == 2
    assert stored(database) == told == [1, 2]


def test_one_that_fails_alone_is_undone_and_the_next_one_is_not(database: Database, writer: Writer) -> None:
    told: list[int] = []

    def work(transaction: Transaction) -> None:
        add(1, told)(transaction)
        raise ValueError("too bad")

    with pytest.raises(ValueError, match="too bad"):
        writer.run(work)
    assert writer.run(add(2, told)) == 2
    assert stored(database) == told == [2]


def test_work_of_one_kind_that_waits_is_done_together(database: Database, writer: Writer) -> None:
    taken: list[list[int]] = []
    futures = jointly(writer, add_all(taken), [1, 2, 3])
    assert [future.result() for future in futures] == [10, 20, 30]
    assert taken == [[1, 2, 3]]
    assert stored(database) == [1, 2, 3]


def test_work_that_fails_together_is_done_one_by_one(database: Database, writer: Writer) -> None:
    taken: list[list[int]] = []
    futures = jointly(writer, add_all(taken), [1, 1, 2])
    assert (futures[0].result(), futures[2].result()) == (10, 20)
    with pytest.raises(Exception, match=r"(?i)unique"):
        futures[1].result()
    assert taken == [[1, 1, 2], [1], [1], [2]]
    assert stored(database) == [1, 2]


def test_a_full_queue_is_said_so(writer: Writer) -> None:
    release, _ = held(writer)
    futures = [writer.submit(add(value)) for value in range(3)]
    with pytest.raises(BusyError, match="3 writes"):
        writer.submit(add(9))
    release.set()
    assert [future.result() for future in futures] == [0, 1, 2]


def test_what_is_queued_is_written_before_the_end(database: Database) -> None:
    writer = Writer(database.write_engine, capacity=10)
    writer.start()
    release, _ = held(writer)
    futures = [writer.submit(add(value)) for value in range(5)]
    stopping = threading.Thread(target=writer.stop)
    stopping.start()
    release.set()
    stopping.join()
    assert [future.result() for future in futures] == stored(database) == [0, 1, 2, 3, 4]


def test_a_call_after_a_commit_that_fails_harms_nobody(
    database: Database, writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    def work(transaction: Transaction) -> int:
        transaction.after_commit(lambda: 1 // 0)  # type: ignore[arg-type]
        return 7

    assert writer.run(work) == 7
    assert writer.run(add(1)) == 1
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.stack
def test_a_busy_server_asks_to_come_again(sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise BusyError("2000 writes are waiting")

    monkeypatch.setattr(sqlite_server.services.writer, "submit", refuse)
    answer = sqlite_server.http.post("/api/v1/login-links")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["type"] == "/problems/busy"
