"""Iterations with their rollouts, log lines, checkpoints, timelines and samples of the machine."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_8"
down_revision = "20261130_7"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("attempts", sa.Column("first_iteration", sa.BigInteger(), nullable=True))
    op.create_table(
        "iterations",
        *_place("iteration"),
        sa.Column("content_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=True),
        sa.Column("num_steps", sa.BigInteger(), nullable=False),
        sa.Column("num_refills", sa.BigInteger(), nullable=False),
        sa.Column("num_carried_in", sa.BigInteger(), nullable=False),
        sa.Column("num_generated", sa.BigInteger(), nullable=False),
        sa.Column("filtered", sa.Text(), nullable=False),
        sa.Column("dropped", sa.Text(), nullable=False),
        sa.Column("num_trained", sa.BigInteger(), nullable=False),
        sa.Column("num_carried_out", sa.BigInteger(), nullable=False),
        sa.Column("num_groups", sa.BigInteger(), nullable=False),
        sa.Column("num_recorded_groups", sa.BigInteger(), nullable=False),
        sa.Column("num_recorded_rollouts", sa.BigInteger(), nullable=False),
        sa.Column("pruned_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("run_key", "attempt", "iteration", name=op.f("pk_iterations")),
    )
    op.create_index("ix_iterations_run_key_first_step", "iterations", ["run_key", "first_step"])
    op.create_table(
        "rollout_groups",
        *_place("iteration"),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("num_prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("texts", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("run_key", "attempt", "iteration", "number", name=op.f("pk_rollout_groups")),
    )
    op.create_table(
        "rollouts",
        *_place("iteration"),
        sa.Column("group_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rollout_id", sa.Text(), nullable=False),
        sa.Column("fate", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("age", sa.BigInteger(), nullable=False),
        sa.Column("num_tokens", sa.BigInteger(), nullable=False),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=True),
        sa.Column("advantage", sa.Double(), nullable=True),
        sa.Column("first_policy_version", sa.BigInteger(), nullable=False),
        sa.Column("last_policy_version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "iteration", "group_number", "number", name=op.f("pk_rollouts")),
    )
    op.create_index("ix_rollouts_run_key_rollout_id", "rollouts", ["run_key", "rollout_id"])
    op.create_table(
        "rollout_tokens",
        *_place("iteration"),
        sa.Column("group_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pieces", sa.LargeBinary(), nullable=False),
        sa.Column("log_probs", sa.LargeBinary(), nullable=True),
        sa.Column("trainer_log_probs", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint(
            "run_key", "attempt", "iteration", "group_number", "number", name=op.f("pk_rollout_tokens")
        ),
    )
    op.create_table(
        "rollout_fates",
        *_place("iteration"),
        sa.Column("rollout_id", sa.Text(), nullable=False),
        sa.Column("fate", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("age", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "iteration", "rollout_id", name=op.f("pk_rollout_fates")),
    )
    op.create_index("ix_rollout_fates_run_key_rollout_id", "rollout_fates", ["run_key", "rollout_id"])
    op.create_table(
        "log_lines",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_key", _KEY, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("severity", sa.SmallInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_log_lines_run_key_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_lines")),
        sa.UniqueConstraint(
            "run_key", "attempt", "source", "number", name=op.f("uq_log_lines_run_key_attempt_source_number")
        ),
    )
    op.create_index("ix_log_lines_run_key_severity_id", "log_lines", ["run_key", "severity", "id"])
    op.create_table(
        "checkpoints",
        *_place("step"),
        sa.Column("iteration", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(16), nullable=False),
        sa.Column("policy_version", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("directory", sa.Text(), nullable=False),
        sa.Column("num_bytes", sa.BigInteger(), nullable=False),
        sa.Column("write_s", sa.Double(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "step", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "timelines",
        *_place("step"),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "step", name=op.f("pk_timelines")),
    )
    op.create_table(
        "system_samples",
        *_place("number"),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "number", name=op.f("pk_system_samples")),
    )
    op.create_index("ix_system_samples_run_key_at", "system_samples", ["run_key", "at"])


def downgrade() -> None:
    for table in (
        "system_samples",
        "timelines",
        "checkpoints",
        "log_lines",
        "rollout_fates",
        "rollout_tokens",
        "rollouts",
        "rollout_groups",
        "iterations",
    ):
        op.drop_table(table)
    op.drop_column("attempts", "first_iteration")


def _place(number: str) -> list[sa.Column]:
    return [
        sa.Column("run_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(number, sa.BigInteger(), autoincrement=False, nullable=False),
    ]
