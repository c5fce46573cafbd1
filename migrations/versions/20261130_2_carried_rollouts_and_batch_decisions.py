"""What a step says of carried rollouts, and of the size that the noise scale proposes."""

import sqlalchemy as sa
from alembic import op

revision = "20261130_2"
down_revision = "20261130_1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Before there was `remainder: carry`, nobody waited.
    op.add_column("steps", sa.Column("num_carried_in", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("steps", sa.Column("num_carried_out", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("steps", sa.Column("batch_decision", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("steps", "batch_decision")
    op.drop_column("steps", "num_carried_out")
    op.drop_column("steps", "num_carried_in")
