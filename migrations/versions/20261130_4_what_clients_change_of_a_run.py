"""Priority, archive and deletion of runs."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_4"
down_revision = "20261130_3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("priority", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("archived_at", sa.BigInteger(), nullable=True))
    op.add_column("runs", sa.Column("deleted_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "deleted_at")
    op.drop_column("runs", "archived_at")
    op.drop_column("runs", "priority")
