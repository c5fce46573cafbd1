"""The schedule of every step: which sample ran where, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from orchestrator.contracts.messages import SampleColumns, ScheduleMessage
from server.database.engine import Database
from server.exports.table import ColumnType, ExportColumn, ExportTable, column_of
from server.steps import queries as step_queries
from server.steps.lineage import Segment, run_segments
from server.steps.schemas import StoredSchedule

SCHEDULES_PER_PAGE = 20
_OF_STEP = (
    *("token_cap", "micro_batch_size", "packer", "balance", "barrier", "skips_dummies", "cp", "pp", "vpp"),
    *("zero_variance", "loss_aggregation", "certificate_sha256"),
)
_OF_SAMPLE = tuple(SampleColumns.model_fields)
_SAMPLE_TYPES = {
    "weight": ColumnType.TEXT,
    "reward": ColumnType.FLOAT,
    "advantage": ColumnType.FLOAT,
    **dict.fromkeys(("num_tokens", "num_loss_tokens", "policy_version", "age"), ColumnType.WHOLE),
}


def schedule_table(database: Database, run_key: int, *, superseded: bool) -> ExportTable[StoredSchedule]:
    """A row for each sample and for each dummy, first those of the current view; a line of JSON for each step."""
    with database.read() as connection:
        segments = [s for s in run_segments(connection, run_key) if superseded or not s.superseded]
    whole = ("step", "attempt", "dp_rank", "micro_batch", "index")
    columns = [ExportColumn(name=name, type=ColumnType.WHOLE) for name in whole]
    columns.insert(2, ExportColumn(name="superseded", type=ColumnType.TRUTH))
    columns += [ExportColumn(name=name, type=_SAMPLE_TYPES.get(name, ColumnType.TEXT)) for name in _OF_SAMPLE]
    for name in ("sample_cost", "micro_batch_predicted_cost", "micro_batch_measured_s"):
        columns.append(ExportColumn(name=name, type=ColumnType.FLOAT))
    columns.append(ExportColumn(name="micro_batch_num_positions", type=ColumnType.WHOLE))
    columns += [column_of(name, ScheduleMessage.model_fields[name]) for name in _OF_STEP]
    return ExportTable(columns=columns, pages=_pages(database, run_key, segments), line=_line, cells=_cells)


def _pages(database: Database, run_key: int, segments: Sequence[Segment]) -> Iterator[list[StoredSchedule]]:
    for segment in segments:
        first = segment.first
        while True:
            with database.read() as connection:
                found = step_queries.schedule_page(connection, run_key, segment, first=first, limit=SCHEDULES_PER_PAGE)
            if not found:
                break
            yield found
            first = found[-1].step + 1


def _line(row: StoredSchedule) -> bytes:
    place = {"step": row.step, "attempt": row.attempt, "superseded": row.superseded}
    return orjson.dumps(place | {"schedule": orjson.Fragment(row.schedule.model_dump_json())})


def _cells(row: StoredSchedule) -> Iterator[list[Any]]:
    told, samples = row.schedule, row.schedule.samples
    of_step = [getattr(told, name) for name in _OF_STEP]
    for dp_rank, rank in enumerate(told.micro_batches):
        for micro_batch, indices in enumerate(rank):
            cost = [told.predicted_cost[dp_rank][micro_batch], told.measured_s[dp_rank][micro_batch]]
            num_positions = told.num_positions[dp_rank][micro_batch] if told.num_positions else None
            for index in indices or (None,):
                place = [row.step, row.attempt, row.superseded, dp_rank, micro_batch, index]
                yield [*place, *_sample(samples, index), _sample_cost(told, index), *cost, num_positions, *of_step]


def _sample(samples: SampleColumns, index: int | None) -> list[Any]:
    """The columns of a sample; None: those of a dummy, which has none."""
    columns = (getattr(samples, name) for name in _OF_SAMPLE)
    return [None if index is None or not column else column[index] for column in columns]


def _sample_cost(told: ScheduleMessage, index: int | None) -> float | None:
    return None if index is None else told.sample_cost[index]
