"""All tables. Alembic compares `metadata` with the migrations; queries live beside the resource they serve.

runs ─┬─ attempts ── steps ── schedules      steps and schedules by (run_key, attempt, step)
      ├─ run_tags
      ├─ metric_names ── points              points by (metric_id, attempt, step)
      ├─ rollups                             points summed up over stretches of steps
      └─ events
tokens, login_codes                          who may ask
idempotency_keys                             which request made which run
audit_events                                 who changed what

A run's `key` is small and joins; its `id` is what the API shows.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Timestamp(TypeDecorator[datetime]):
    """A moment in UTC as microseconds since 1970: exact, sortable, and the same on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else _EPOCH + timedelta(microseconds=int(value))


def to_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def is_storable(moment: datetime) -> bool:
    """Whether every part of the system can tell this moment: some cannot, at the edges of what a datetime holds."""
    return 1970 <= moment.year <= 9998


class PointKind(IntEnum):
    """What `points.value` cannot say by itself: SQLite stores a bound NaN as NULL."""

    FINITE = 0
    NAN = 1
    POSITIVE_INFINITY = 2
    NEGATIVE_INFINITY = 3
    NOT_MEASURED = 4


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Only a column typed INTEGER numbers itself on SQLite.
_Key = BigInteger().with_variant(Integer, "sqlite")

runs = Table(
    "runs",
    metadata,
    Column("key", _Key, primary_key=True, autoincrement=True),
    Column("id", String(30), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Text),
    Column("activity", Text),
    # JSON: the RunSpec; of an external run the config that its writer told
    Column("spec", Text, nullable=False),
    # Empty for an external run, as is the layout
    Column("batch_policy", Text, nullable=False),
    Column("parallelism", Text, nullable=False),
    Column("attempt", Integer, nullable=False, default=0),
    Column("version", Integer, nullable=False, default=1),
    Column("created_at", Timestamp, nullable=False),
    Column("state_changed_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("ended_at", Timestamp),
    Column("last_heartbeat_at", Timestamp),
    # Higher ones start first.
    Column("priority", Integer, nullable=False, default=0, server_default="0"),
    # The run that it was cloned from, which may be gone
    Column("parent_id", String(30)),
    # Those count for limits.max_restarts no more.
    Column("attempts_before_retry", Integer, nullable=False, default=0, server_default="0"),
    Column("archived_at", Timestamp),
    # Hidden from then on, and removed in the background.
    Column("deleted_at", Timestamp),
    # From then on it cannot be restored.
    Column("removal_began_at", Timestamp),
    Column("stop_mode", String(16)),
    Column("stop_requested_at", Timestamp),
    # Somebody wants it to go on from this checkpoint.
    Column("resume_step", BigInteger),
    Column("num_steps", BigInteger, nullable=False, default=0),
    Column("total_steps", BigInteger),
    # Kept at ingest, so that a list of runs reads one row per run.
    Column("last_step", Text),
    Column("sparkline", Text),
    # What lists are sorted by; finite, or null.
    Column("last_reward", Double),
    Column("last_loss", Double),
    Column("last_batch_size", BigInteger),
    Index("ix_runs_state_key", "state", "key"),
    Index("ix_runs_name_key", "name", "key"),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("run_key", _Key, ForeignKey("runs.key"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Index("ix_run_tags_tag_value", "tag", "value"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_key", _Key, ForeignKey("runs.key"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("job_id", Text),
    Column("created_at", Timestamp, nullable=False),
    Column("last_heartbeat_at", Timestamp),
    Column("first_step", BigInteger),
    # As first_step, for iterations; an attempt that begins in the warm start has 0.
    Column("first_iteration", BigInteger),
    # Below this step the rollups hold all that is recorded.
    Column("rolled_up_to", BigInteger, nullable=False, server_default="0"),
    Column("outcome", String(16)),
    Column("reason", Text),
    Column("ended_at", Timestamp),
)

steps = Table(
    "steps",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("content_hash", LargeBinary(32), nullable=False),
    # What may be null, other frameworks that record may not know.
    Column("iteration", BigInteger),
    Column("phase", String(16)),
    Column("status", String(32)),
    Column("started_at", Timestamp, nullable=False),
    Column("ended_at", Timestamp, nullable=False),
    Column("policy_version", BigInteger),
    Column("global_batch_size", BigInteger, nullable=False),
    Column("num_prompts", BigInteger),
    Column("num_rollouts", BigInteger),
    Column("num_tokens", BigInteger),
    Column("num_loss_tokens", BigInteger),
    Column("num_microbatches", BigInteger),
    Column("num_dummies", BigInteger),
    Column("num_over_cap", BigInteger),
    Column("num_generated", BigInteger),
    Column("num_filtered", BigInteger),
    Column("num_dropped", BigInteger),
    Column("num_carried_in", BigInteger),
    Column("num_carried_out", BigInteger),
    # JSON of a BatchDecision
    Column("batch_decision", Text),
    Column("lr", Double),
    Column("lr_unit", String(16)),
    Column("lr_position_before", BigInteger),
    Column("lr_position_after", BigInteger),
    Column("predicted_idle_frac", Double),
    Column("measured_idle_frac", Double),
    Column("idle_bound_frac", Double),
    Column("padding_frac", Double),
    Column("samples_total", BigInteger, nullable=False),
    # Null from the first step on that does not tell its tokens
    Column("tokens_total", BigInteger),
    ForeignKeyConstraint(["run_key", "attempt"], ["attempts.run_key", "attempts.number"]),
    sqlite_with_rowid=False,
)

schedules = Table(
    "schedules",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    # zlib over the JSON of a ScheduleMessage
    Column("blob", LargeBinary, nullable=False),
)

metric_names = Table(
    "metric_names",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("run_key", _Key, ForeignKey("runs.key"), nullable=False),
    Column("name", Text, nullable=False),
    Column("reduction", String(8), nullable=False),
    UniqueConstraint("run_key", "name"),
)

points = Table(
    "points",
    metadata,
    Column("metric_id", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("kind", SmallInteger, nullable=False),
    Column("weight", Double, nullable=False),
    # One series is one stretch of the table: a history reads it in order, without jumps.
    sqlite_with_rowid=False,
)

rollups = Table(
    "rollups",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    # The metric's id, or a negative number for a column of `steps` (server/history/series.py)
    Column("series", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("num_steps", Integer, primary_key=True, autoincrement=False),
    # Steps from bucket × num_steps on
    Column("bucket", BigInteger, primary_key=True, autoincrement=False),
    # Measured ones, non-finite ones included
    Column("num_points", BigInteger, nullable=False),
    Column("first_step", BigInteger, nullable=False),
    Column("last_step", BigInteger, nullable=False),
    # From here on finite values only, null without any
    Column("first_finite_step", BigInteger),
    Column("last_finite_step", BigInteger),
    # Reduced as the metric declares
    Column("value", Double),
    Column("weight", Double, nullable=False),
    Column("low", Double),
    Column("high", Double),
    Column("first_value", Double),
    Column("last_value", Double),
    # The first of each kind
    Column("nan_step", BigInteger),
    Column("positive_infinity_step", BigInteger),
    Column("negative_infinity_step", BigInteger),
    sqlite_with_rowid=False,
)

iterations = Table(
    "iterations",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("iteration", BigInteger, primary_key=True, autoincrement=False),
    Column("content_hash", LargeBinary(32), nullable=False),
    Column("started_at", Timestamp, nullable=False),
    Column("ended_at", Timestamp, nullable=False),
    Column("first_step", BigInteger),
    Column("num_steps", BigInteger, nullable=False),
    Column("num_refills", BigInteger, nullable=False),
    Column("num_carried_in", BigInteger, nullable=False),
    Column("num_generated", BigInteger, nullable=False),
    # JSON: rollouts by reason
    Column("filtered", Text, nullable=False),
    Column("dropped", Text, nullable=False),
    Column("num_trained", BigInteger, nullable=False),
    Column("num_carried_out", BigInteger, nullable=False),
    Column("num_groups", BigInteger, nullable=False),
    Column("num_recorded_groups", BigInteger, nullable=False),
    Column("num_recorded_rollouts", BigInteger, nullable=False),
    # Since when retention has taken its texts and tokens away
    Column("pruned_at", Timestamp),
    Index("ix_iterations_run_key_first_step", "run_key", "first_step"),
)

rollout_groups = Table(
    "rollout_groups",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("iteration", BigInteger, primary_key=True, autoincrement=False),
    # Counts from 0 within the iteration, as recorded.
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("group_id", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("num_prompt_tokens", BigInteger, nullable=False),
    # zlib over JSON of (prompt, answer, responses); null: not kept any more
    Column("texts", LargeBinary),
)

rollouts = Table(
    "rollouts",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("iteration", BigInteger, primary_key=True, autoincrement=False),
    Column("group_number", Integer, primary_key=True, autoincrement=False),
    # Counts from 0 within the group.
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("rollout_id", Text, nullable=False),
    Column("fate", String(16), nullable=False),
    Column("reason", Text),
    Column("step", BigInteger),
    Column("age", BigInteger, nullable=False),
    Column("num_tokens", BigInteger, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("reward", Double),
    Column("advantage", Double),
    Column("first_policy_version", BigInteger, nullable=False),
    Column("last_policy_version", BigInteger, nullable=False),
    Index("ix_rollouts_run_key_rollout_id", "run_key", "rollout_id"),
)

rollout_tokens = Table(
    "rollout_tokens",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("iteration", BigInteger, primary_key=True, autoincrement=False),
    Column("group_number", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    # zlib over JSON of the pieces
    Column("pieces", LargeBinary, nullable=False),
    # Packed floats (server/database/packing.py), one for each piece; null: not recorded
    Column("log_probs", LargeBinary),
    Column("trainer_log_probs", LargeBinary),
)

rollout_fates = Table(
    "rollout_fates",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    # The one that took the rollout up again
    Column("iteration", BigInteger, primary_key=True, autoincrement=False),
    Column("rollout_id", Text, primary_key=True),
    Column("fate", String(16), nullable=False),
    Column("reason", Text),
    Column("step", BigInteger),
    Column("age", BigInteger, nullable=False),
    Index("ix_rollout_fates_run_key_rollout_id", "run_key", "rollout_id"),
)

log_lines = Table(
    "log_lines",
    metadata,
    # In the order of arrival: who reads on from an id misses no line that comes late.
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("run_key", _Key, ForeignKey("runs.key"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("at", Timestamp, nullable=False),
    # From 0, debug, to 3, error
    Column("severity", SmallInteger, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("run_key", "attempt", "source", "number"),
    Index("ix_log_lines_run_key_severity_id", "run_key", "severity", "id"),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("iteration", BigInteger, nullable=False),
    Column("phase", String(16), nullable=False),
    Column("policy_version", BigInteger, nullable=False),
    Column("at", Timestamp, nullable=False),
    Column("directory", Text, nullable=False),
    Column("num_bytes", BigInteger, nullable=False),
    Column("write_s", Double, nullable=False),
    Column("removed", Boolean, nullable=False),
)

timelines = Table(
    "timelines",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    # zlib over the JSON of TimelineColumns
    Column("blob", LargeBinary, nullable=False),
)

system_samples = Table(
    "system_samples",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    # Counts from 0 within the attempt: what is read of many of them is every so many-th.
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Timestamp, nullable=False),
    # zlib over the JSON of a SystemSample
    Column("blob", LargeBinary, nullable=False),
    Index("ix_system_samples_run_key_at", "run_key", "at"),
)

events = Table(
    "events",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("run_key", _Key, ForeignKey("runs.key"), nullable=False),
    Column("attempt", Integer),
    # Given by the driver, so that a repeat is known as one; null for the server's own events.
    Column("key", Text),
    Column("content_hash", LargeBinary(32)),
    Column("kind", Text, nullable=False),
    Column("at", Timestamp, nullable=False),
    Column("message", Text, nullable=False),
    Column("data", Text, nullable=False),
    UniqueConstraint("run_key", "attempt", "key"),
    Index("ix_events_run_key_id", "run_key", "id"),
)

pruned_records = Table(
    "pruned_records",
    metadata,
    Column("run_key", _Key, primary_key=True, autoincrement=False),
    # What retention has taken away: `rollouts`, `logs`, `schedules`, `timelines`, `system`
    Column("kind", String(16), primary_key=True),
    # Below this step, log line or sample's moment nothing of it is kept.
    Column("up_to", BigInteger, nullable=False),
    Column("num_removed", BigInteger, nullable=False),
    # The limit that asked for it
    Column("kept", BigInteger, nullable=False),
    Column("at", Timestamp, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("access", String(16), nullable=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp),
    Column("revoked_at", Timestamp),
    Column("rotated_at", Timestamp),
)

login_codes = Table(
    "login_codes",
    metadata,
    Column("code_hash", String(64), primary_key=True),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("used_at", Timestamp),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("content_hash", LargeBinary(32), nullable=False),
    Column("run_id", String(30), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Index("ix_idempotency_keys_created_at", "created_at"),
)

audit_events = Table(
    "audit_events",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("at", Timestamp, nullable=False),
    Column("actor", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
)
