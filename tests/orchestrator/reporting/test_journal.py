from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.reporting.journal import Journal, JournalRecord, RecordKind
from tests.orchestrator.run_factories import event


def keys(records: list[JournalRecord]) -> list[str]:
    return [record.body["key"] for record in records]


def everything(journal: Journal) -> list[JournalRecord]:
    return journal.unacknowledged(max_records=1000, max_bytes=1_000_000)


def journal_with(path: Path, *names: str) -> Journal:
    journal = Journal(path)
    for name in names:
        journal.append(RecordKind.EVENT, event(name))
    return journal


OpenJournal = Callable[..., Journal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenJournal]:
    """The same journal, opened again and again with some more records."""
    journals: list[Journal] = []

    def open_journal(*names: str) -> Journal:
        journals.append(journal_with(tmp_path / "attempt.jsonl", *names))
        return journals[-1]

    yield open_journal
    for journal in journals:
        journal.close()


def test_records_come_back_in_order_until_they_are_acknowledged(opened: OpenJournal) -> None:
    journal = opened("a", "b", "c")
    records = everything(journal)
    assert keys(records) == ["a", "b", "c"]
    journal.acknowledge(records[1].end)
    assert keys(everything(journal)) == ["c"]


def test_the_mark_outlives_the_process(opened: OpenJournal) -> None:
    journal = opened("a", "b")
    journal.acknowledge(everything(journal)[0].end)
    journal.close()
    assert keys(everything(opened())) == ["b"]


@pytest.mark.parametrize("mark", ["", "12x", "999999"])
def test_a_mark_that_tells_nothing_sends_everything_again(opened: OpenJournal, tmp_path: Path, mark: str) -> None:
    opened("a", "b").close()
    (tmp_path / "attempt.ack").write_text(mark)
    assert keys(everything(opened())) == ["a", "b"]


@settings(max_examples=30)
@given(cut=st.integers(min_value=1, max_value=120))
def test_half_a_last_line_is_cut_off_and_written_over(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("journal") / "attempt.jsonl"
    journal_with(path, "a", "b").close()
    whole, content = path.read_bytes().index(b"\n") + 1, path.read_bytes()
    path.write_bytes(content[: max(whole, len(content) - cut)])
    journal = journal_with(path, "c")
    assert keys(everything(journal)) == ["a", "c"]
    journal.close()


def test_a_line_that_is_being_written_is_not_read(opened: OpenJournal) -> None:
    journal = opened("a")
    with journal.path.open("ab") as other:
        other.write(b'{"kind":"event","bo')
    assert keys(everything(journal)) == ["a"]


def test_a_batch_is_bounded_but_never_empty(opened: OpenJournal) -> None:
    journal = opened("a", "b", "c")
    size = everything(journal)[0].end
    assert keys(journal.unacknowledged(max_records=2, max_bytes=10_000)) == ["a", "b"]
    assert keys(journal.unacknowledged(max_records=9, max_bytes=2 * size)) == ["a", "b"]
    assert keys(journal.unacknowledged(max_records=9, max_bytes=1)) == ["a"]


def test_a_refusal_names_the_record_it_speaks_of(opened: OpenJournal) -> None:
    journal = opened("a")
    [record] = everything(journal)
    journal.append_refusal(record, "422: no such thing")
    refusal = everything(journal)[1]
    assert refusal.kind is RecordKind.REFUSED
    assert refusal.body == {"kind": "event", "start": record.start, "reason": "422: no such thing"}
