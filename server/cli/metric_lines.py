"""`swell metrics --format`: a history as lines for other programs. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from server.exports.formats import safe_text
from server.history.schemas import MetricHistory, Series

_COLUMNS = ("run", "name", "attempt", "step", "last_step", "x", "value", "weight", "min", "max")


class MetricFormat(StrEnum):
    """How the lines are written."""

    CSV = "csv"
    JSONL = "jsonl"


def metric_lines(history: MetricHistory, format_: MetricFormat) -> Iterator[str]:
    """A line for each point or bucket, series after series, by step; non-finite values by their names."""
    rows = (row for series in history.series for row in _rows(series))
    if format_ is MetricFormat.JSONL:
        for row in rows:
            yield json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
        return
    yield _csv_line(_COLUMNS)
    for row in rows:
        yield _csv_line(tuple(safe_text(cell) if isinstance(cell, str) else cell for cell in row))


def _rows(series: Series) -> list[tuple[Any, ...]]:
    low, high = series.min, series.max
    place = (series.run, series.name, series.attempt)
    rows: list[tuple[Any, ...]] = [
        (
            *place,
            *(series.step[k], series.last_step[k], series.x[k], series.value[k], series.weight[k]),
            *(None if low is None else low[k], None if high is None else high[k]),
        )
        for k in range(len(series.x))
    ]
    rows += [(*place, point.step, point.step, point.x, point.value, None, None, None) for point in series.non_finite]
    return sorted(rows, key=lambda row: (row[2], row[3]))


def _csv_line(cells: tuple[Any, ...]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow("" if cell is None else cell for cell in cells)
    return line.getvalue()
