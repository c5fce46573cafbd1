"""Runs, steps, metrics, events and tokens."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_1"
down_revision = None
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "login_codes",
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_login_codes")),
    )
    op.create_table(
        "points",
        sa.Column("metric_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("metric_id", "attempt", "step", name=op.f("pk_points")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "runs",
        sa.Column("key", _KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=30), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("activity", sa.Text(), nullable=True),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("batch_policy", sa.Text(), nullable=False),
        sa.Column("parallelism", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state_changed_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("last_heartbeat_at", sa.BigInteger(), nullable=True),
        sa.Column("stop_mode", sa.String(length=16), nullable=True),
        sa.Column("stop_requested_at", sa.BigInteger(), nullable=True),
        sa.Column("num_steps", sa.BigInteger(), nullable=False),
        sa.Column("total_steps", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.Text(), nullable=True),
        sa.Column("sparkline", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_runs")),
        sa.UniqueConstraint("id", name=op.f("uq_runs_id")),
    )
    op.create_index("ix_runs_name_key", "runs", ["name", "key"], unique=False)
    op.create_index("ix_runs_state_key", "runs", ["state", "key"], unique=False)
    op.create_table(
        "schedules",
        sa.Column("run_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "step", name=op.f("pk_schedules")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("access", sa.String(length=16), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_tokens_token_hash")),
    )
    op.create_table(
        "attempts",
        sa.Column("run_key", _KEY, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_heartbeat_at", sa.BigInteger(), nullable=True),
        sa.Column("first_step", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_attempts_run_key_runs")),
        sa.PrimaryKeyConstraint("run_key", "number", name=op.f("pk_attempts")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_attempts_token_hash")),
    )
    op.create_table(
        "events",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_key", _KEY, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("content_hash", sa.LargeBinary(length=32), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_events_run_key_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("run_key", "attempt", "key", name=op.f("uq_events_run_key_attempt_key")),
    )
    op.create_index("ix_events_run_key_id", "events", ["run_key", "id"], unique=False)
    op.create_table(
        "metric_names",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_key", _KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("reduction", sa.String(length=8), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_metric_names_run_key_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_names")),
        sa.UniqueConstraint("run_key", "name", name=op.f("uq_metric_names_run_key_name")),
    )
    op.create_table(
        "run_tags",
        sa.Column("run_key", _KEY, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_run_tags_run_key_runs")),
        sa.PrimaryKeyConstraint("run_key", "tag", name=op.f("pk_run_tags")),
    )
    op.create_index("ix_run_tags_tag_value", "run_tags", ["tag", "value"], unique=False)
    op.create_table(
        "steps",
        sa.Column("run_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("content_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("iteration", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("policy_version", sa.BigInteger(), nullable=False),
        sa.Column("global_batch_size", sa.BigInteger(), nullable=False),
        sa.Column("num_prompts", sa.BigInteger(), nullable=False),
        sa.Column("num_rollouts", sa.BigInteger(), nullable=False),
        sa.Column("num_tokens", sa.BigInteger(), nullable=False),
        sa.Column("num_loss_tokens", sa.BigInteger(), nullable=False),
        sa.Column("num_microbatches", sa.BigInteger(), nullable=False),
        sa.Column("num_dummies", sa.BigInteger(), nullable=False),
        sa.Column("num_over_cap", sa.BigInteger(), nullable=False),
        sa.Column("num_generated", sa.BigInteger(), nullable=False),
        sa.Column("num_filtered", sa.BigInteger(), nullable=False),
        sa.Column("num_dropped", sa.BigInteger(), nullable=False),
        sa.Column("lr", sa.Double(), nullable=False),
        sa.Column("lr_unit", sa.String(length=16), nullable=False),
        sa.Column("lr_position_before", sa.BigInteger(), nullable=False),
        sa.Column("lr_position_after", sa.BigInteger(), nullable=False),
        sa.Column("predicted_idle_frac", sa.Double(), nullable=False),
        sa.Column("measured_idle_frac", sa.Double(), nullable=False),
        sa.Column("idle_bound_frac", sa.Double(), nullable=False),
        sa.Column("padding_frac", sa.Double(), nullable=False),
        sa.Column("samples_total", sa.BigInteger(), nullable=False),
        sa.Column("tokens_total", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_key", "attempt"],
            ["attempts.run_key", "attempts.number"],
            name=op.f("fk_steps_run_key_attempt_attempts"),
        ),
        sa.PrimaryKeyConstraint("run_key", "attempt", "step", name=op.f("pk_steps")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("steps")
    op.drop_index("ix_run_tags_tag_value", table_name="run_tags")
    op.drop_table("run_tags")
    op.drop_table("metric_names")
    op.drop_index("ix_events_run_key_id", table_name="events")
    op.drop_table("events")
    op.drop_table("attempts")
    op.drop_table("tokens")
    op.drop_table("schedules")
    op.drop_index("ix_runs_state_key", table_name="runs")
    op.drop_index("ix_runs_name_key", table_name="runs")
    op.drop_table("runs")
    op.drop_table("points")
    op.drop_table("login_codes")
