"""Metrics summed up over 64, 512 and 4096 steps."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_3"
down_revision = "20261130_2"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "rollups",
        sa.Column("run_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("series", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("num_steps", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bucket", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("num_points", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("first_finite_step", sa.BigInteger(), nullable=True),
        sa.Column("last_finite_step", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("first_value", sa.Double(), nullable=True),
        sa.Column("last_value", sa.Double(), nullable=True),
        sa.Column("nan_step", sa.BigInteger(), nullable=True),
        sa.Column("positive_infinity_step", sa.BigInteger(), nullable=True),
        sa.Column("negative_infinity_step", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("run_key", "series", "attempt", "num_steps", "bucket", name=op.f("pk_rollups")),
        sqlite_with_rowid=False,
    )
    # What was recorded before has none: its history is read point by point, as it was.
    op.add_column("attempts", sa.Column("rolled_up_to", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("attempts", "rolled_up_to")
    op.drop_table("rollups")
