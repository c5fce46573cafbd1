"""Where a run comes from: the run that it was cloned from, and the attempts before it was last retried."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_6"
down_revision = "20261130_5"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("parent_id", sa.String(length=30), nullable=True))
    op.add_column("runs", sa.Column("attempts_before_retry", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("runs", "attempts_before_retry")
    op.drop_column("runs", "parent_id")
