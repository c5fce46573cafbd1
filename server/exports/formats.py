"""Steps as CSV, JSON lines and Parquet, piece by piece: no file is ever whole in memory.

What was not measured is an empty cell or null; NaN and infinities are told apart from it in every format.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from orchestrator.contracts.messages import MetricMessage
from server.steps.columns import REPORT_COLUMNS
from server.steps.schemas import StepRow

PLACE_COLUMNS = ("attempt", "superseded", "samples_total", "tokens_total")
STEP_COLUMNS = (*REPORT_COLUMNS, *PLACE_COLUMNS, "batch_decision")
Pages = Iterable[Sequence[StepRow]]

# What a spreadsheet takes for the beginning of a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


class ExportFormat(StrEnum):
    """What the file is."""

    CSV = "csv"
    """One line a step, one column a metric and one for its weight."""
    JSONL = "jsonl"
    """One step a line, as `getStep` tells it."""
    PARQUET = "parquet"
    """As CSV, with types."""

    @property
    def media_type(self) -> str:
        return {
            ExportFormat.CSV: "text/csv; charset=utf-8",
            ExportFormat.JSONL: "application/x-ndjson",
            ExportFormat.PARQUET: "application/vnd.apache.parquet",
        }[self]


def export(format_: ExportFormat, pages: Pages, metric_names: Sequence[str]) -> Iterator[bytes]:
    """The pieces of the file. metric_names: the metrics that have columns; one that is new meanwhile has none."""
    match format_:
        case ExportFormat.CSV:
            return _csv(pages, metric_names)
        case ExportFormat.JSONL:
            return _jsonl(pages)
        case ExportFormat.PARQUET:
            return _parquet(pages, metric_names)


def weight_column(name: str) -> str:
    return f"{name} (weight)"


def safe_text(text: str) -> str:
    """A text that no spreadsheet runs: one that looks like a formula begins with an apostrophe.

    >>> safe_text("=1+2")
    "'=1+2"
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _jsonl(pages: Pages) -> Iterator[bytes]:
    for page in pages:
        yield b"".join(row.model_dump_json().encode() + b"\n" for row in page)


def _csv(pages: Pages, metric_names: Sequence[str]) -> Iterator[bytes]:
    header = [*STEP_COLUMNS, *(column for name in metric_names for column in (name, weight_column(name)))]
    yield _lines([[safe_text(column) for column in header]])
    for page in pages:
        yield _lines([_cells(row, metric_names) for row in page])


def _lines(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cells(row: StepRow, metric_names: Sequence[str]) -> list[Any]:
    told = row.model_dump(mode="json", exclude={"metrics", "batch_decision"})
    decision = "" if row.batch_decision is None else row.batch_decision.model_dump_json()
    cells = [*(told[name] for name in STEP_COLUMNS[:-1]), decision]
    for name in metric_names:
        metric = row.metrics.get(name)
        cells += ["", ""] if metric is None else ["" if metric.value is None else metric.value, metric.weight]
    return cells


def _parquet(pages: Pages, metric_names: Sequence[str]) -> Iterator[bytes]:
    # It takes longer to import than most servers take to start.
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(metric_names)
    sink = _Pieces()
    with pq.ParquetWriter(sink, schema) as writer:
        for page in pages:
            writer.write_table(pa.Table.from_pydict(_columns(page, metric_names), schema=schema))
            yield sink.take()
    yield sink.take()


class _Pieces(io.RawIOBase):
    """A file that only grows, and is taken away as it grows."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def close(self) -> None:
        """Nothing: the writer closes what it wrote to before the last piece is taken."""

    def take(self) -> bytes:
        """What was written since the last call."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def _schema(metric_names: Sequence[str]) -> Any:
    import pyarrow as pa

    kinds: dict[Any, Any] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    fields = []
    for name in STEP_COLUMNS:
        annotation = StepRow.model_fields[name].annotation
        if name in ("started_at", "ended_at"):
            fields.append(pa.field(name, pa.timestamp("us", tz="UTC")))
        else:
            fields.append(pa.field(name, kinds.get(_known(annotation), pa.string())))
    for name in metric_names:
        fields += [pa.field(name, pa.float64()), pa.field(weight_column(name), pa.float64())]
    return pa.schema(fields)


def _known(annotation: Any) -> Any:
    """The type of a field where it is not null: `int` of `Annotated[int, …] | None`."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    parts = [_known(part) for part in get_args(annotation) if part is not NoneType]
    return parts[0] if len(parts) == 1 else annotation


def _columns(page: Sequence[StepRow], metric_names: Sequence[str]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in page] for name in STEP_COLUMNS[:-1]}
    columns["batch_decision"] = [
        None if row.batch_decision is None else row.batch_decision.model_dump_json() for row in page
    ]
    for name in metric_names:
        found = [row.metrics.get(name) for row in page]
        columns[name] = [_number(metric) for metric in found]
        columns[weight_column(name)] = [None if metric is None else metric.weight for metric in found]
    return columns


def _number(metric: MetricMessage | None) -> float | None:
    return None if metric is None or metric.value is None else float(metric.value)
