"""All SQL that stores log lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from orchestrator.contracts.log_messages import LogLevel, LogLine
from server.database.engine import insert_raw
from server.database.tables import is_storable, log_lines, to_microseconds
from server.errors import ConflictError, InvalidError

SEVERITIES: dict[LogLevel, int] = {level: severity for severity, level in enumerate(LogLevel)}
"""LogLevel tells its members from the least on."""
_COLUMNS = ("run_key", "attempt", "source", "number", "at", "severity", "text")


def check_lines(lines: Sequence[LogLine]) -> None:
    """Raises InvalidError for lines that no database can hold."""
    wrong = [i for i, line in enumerate(lines) if not is_storable(line.at)]
    if wrong:
        raise InvalidError([(f"/lines/{i}/at", "is no moment that can be told; check the clock") for i in wrong])


def insert_lines(connection: Connection, run_key: int, attempt: int, lines: Sequence[LogLine]) -> int:
    """Store those that are new, and return their number. Raises ConflictError for a number with other content."""
    known = _known(connection, run_key, attempt, lines)
    rows = []
    for i, line in enumerate(lines):
        place, content = (line.source, line.number), (line.at, SEVERITIES[line.level], line.text)
        stored = known.setdefault(place, content)
        if stored != content:
            told = f"Line {line.number} of {line.source!r} is recorded with other content."
            raise ConflictError("conflicting-line", told, pointer=f"/lines/{i}")
        if stored is content:
            rows.append((run_key, attempt, *place, to_microseconds(line.at), content[1], line.text))
    if rows:
        insert_raw(connection, log_lines, _COLUMNS, rows)
    return len(rows)


def _known(
    connection: Connection, run_key: int, attempt: int, lines: Sequence[LogLine]
) -> dict[tuple[str, int], tuple[datetime, int, str]]:
    """What is stored already under the numbers of these lines."""
    numbers: dict[str, list[int]] = {}
    for line in lines:
        numbers.setdefault(line.source, []).append(line.number)
    found: dict[tuple[str, int], tuple[Any, ...]] = {}
    for source, wanted in numbers.items():
        query = select(log_lines).where(
            log_lines.c.run_key == run_key,
            log_lines.c.attempt == attempt,
            log_lines.c.source == source,
            log_lines.c.number.between(min(wanted), max(wanted)),
        )
        for row in connection.execute(query):
            found[row.source, row.number] = (row.at, row.severity, row.text)
    return found
