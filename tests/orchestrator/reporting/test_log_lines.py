from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.log_messages import LogLevel, LogLine
from orchestrator.reporting.log_lines import MAX_TEXT_CHARS, LineParser, progress_of

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOGGED = "2026-11-30T10:00:00.250000+00:00 {} trainer.rank: {}\n"

CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in f
    raise KeyError(3)
KeyError: 3

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 5, in <module>
    f()
ValueError: no such thing
"""
CRASH = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "b.py", line 7 in push
  File "b.py", line 9 in <module>

Thread 0x00007e (most recent call first):
  File "c.py", line 1 in wait

Extension modules: numpy, torch (total: 2)
"""


def parsed(*pieces: str) -> list[LogLine]:
    parser = LineParser("rank 0")
    lines = [line for piece in pieces for line in parser.feed(piece, now=NOW)]
    return [*lines, *parser.flush(now=NOW)]


@pytest.mark.parametrize(
    ("written", "level"),
    [
        ("DEBUG", LogLevel.DEBUG),
        ("INFO", LogLevel.INFO),
        ("WARNING", LogLevel.WARNING),
        ("ERROR", LogLevel.ERROR),
        ("CRITICAL", LogLevel.ERROR),
    ],
)
def test_a_loggers_line_has_its_own_time_and_level(written: str, level: LogLevel) -> None:
    [line] = parsed(LOGGED.format(written, "a message"))
    assert (line.source, line.number, line.level, line.text) == ("rank 0", 0, level, "trainer.rank: a message")
    assert line.at == datetime(2026, 11, 30, 10, 0, 0, 250_000, tzinfo=UTC)


def test_what_a_logger_continues_belongs_to_its_line() -> None:
    traceback = 'failed\n\tTraceback (most recent call last):\n\t  File "a.py"\n\tKeyError: 3'
    first, second = parsed(LOGGED.format("ERROR", traceback), "printed\n")
    assert first.text == 'trainer.rank: failed\nTraceback (most recent call last):\n  File "a.py"\nKeyError: 3'
    assert (second.number, second.text, second.at, second.level) == (1, "printed", NOW, LogLevel.INFO)


@pytest.mark.parametrize("block", [CHAINED, CRASH])
def test_a_traceback_that_nobody_logged_is_one_entry(block: str) -> None:
    before, entry, after = parsed("before\n", block, LOGGED.format("INFO", "after"))
    assert (before.text, after.text) == ("before", "trainer.rank: after")
    assert entry.text == block.rstrip()
    assert entry.level is LogLevel.ERROR


def test_what_is_printed_after_a_traceback_is_a_line_of_its_own() -> None:
    texts = [line.text for line in parsed(CHAINED, "printed\nand more\n")]
    assert texts == [CHAINED.rstrip(), "printed", "and more"]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("a.py:3: UserWarning: odd", LogLevel.WARNING),
        ("[W1130 12:00:00] WARN: odd", LogLevel.WARNING),
        ("RuntimeError: bad", LogLevel.ERROR),
        ("no error here", LogLevel.INFO),
    ],
)
def test_the_level_of_a_printed_line_is_told_by_its_words(text: str, level: LogLevel) -> None:
    [line] = parsed(text + "\n")
    assert line.level is level


def test_empty_lines_are_no_entries_and_a_last_line_without_end_is_one() -> None:
    assert [line.text for line in parsed("\n\n  \na\n\nb")] == ["a", "b"]


def test_endless_lines_are_cut_and_nul_is_replaced() -> None:
    lines = parsed("x" * 100_000, "y\0z\n")
    assert [len(line.text) for line in lines] == [MAX_TEXT_CHARS, 3]
    assert lines[1].text == "y\ufffdz"


def test_progress_is_told_apart() -> None:
    line = "2026-11-30T10:00:00+00:00 INFO progress: loading weights: 3 of 9 tensors\n"
    [told, other] = parsed(line, LOGGED.format("INFO", "progress: x"))
    assert progress_of(told) == "loading weights: 3 of 9 tensors"
    assert progress_of(other) is None


@given(st.data())
def test_where_a_file_was_cut_between_two_reads_makes_no_difference(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from([CHAINED, CRASH, LOGGED.format("ERROR", "x\n\ty"), "a\n", "\n"])))
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert parsed(*pieces) == parsed(whole)


@given(st.text())
def test_anything_that_is_written_can_be_told(text: str) -> None:
    lines = parsed(text)
    assert [line.number for line in lines] == list(range(len(lines)))
