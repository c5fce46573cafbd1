"""Steps of other frameworks, which know less; runs that are sorted, restored, retried from a step, and pruned."""

import json
import math

import sqlalchemy as sa
from alembic import op

revision = "20261130_9"
down_revision = "20261130_8"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WHOLE = (
    *("iteration", "policy_version", "num_prompts", "num_rollouts", "num_tokens", "num_loss_tokens"),
    *("num_microbatches", "num_dummies", "num_over_cap", "num_generated", "num_filtered", "num_dropped"),
    *("num_carried_in", "num_carried_out", "lr_position_before", "lr_position_after", "tokens_total"),
)
_REAL = ("lr", "predicted_idle_frac", "measured_idle_frac", "idle_bound_frac", "padding_frac")
_TEXT = {"phase": 16, "status": 32, "lr_unit": 16}
_LARGEST = 1.7e308


def upgrade() -> None:
    _steps_may_be_null(nullable=True)
    op.add_column("runs", sa.Column("resume_step", sa.BigInteger(), nullable=True))
    op.add_column("runs", sa.Column("removal_began_at", sa.BigInteger(), nullable=True))
    op.add_column("runs", sa.Column("last_reward", sa.Double(), nullable=True))
    op.add_column("runs", sa.Column("last_loss", sa.Double(), nullable=True))
    op.add_column("runs", sa.Column("last_batch_size", sa.BigInteger(), nullable=True))
    _sort_known_runs()
    op.add_column("tokens", sa.Column("rotated_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "pruned_records",
        sa.Column("run_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("up_to", sa.BigInteger(), nullable=False),
        sa.Column("num_removed", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "kind", name=op.f("pk_pruned_records")),
    )


def downgrade() -> None:
    op.drop_table("pruned_records")
    op.drop_column("tokens", "rotated_at")
    for name in ("last_batch_size", "last_loss", "last_reward", "removal_began_at", "resume_step"):
        op.drop_column("runs", name)
    for name in (*_WHOLE, *_REAL):
        op.execute(f"UPDATE steps SET {name} = 0 WHERE {name} IS NULL")
    for name in _TEXT:
        op.execute(f"UPDATE steps SET {name} = '' WHERE {name} IS NULL")
    _steps_may_be_null(nullable=False)


def _steps_may_be_null(*, nullable: bool) -> None:
    # SQLite copies the table, and would forget that it is ordered by its key.
    with op.batch_alter_table("steps", table_kwargs={"sqlite_with_rowid": False}) as steps:
        for name in _WHOLE:
            default = "0" if name.startswith("num_carried") else None
            steps.alter_column(
                name,
                existing_type=sa.BigInteger(),
                nullable=nullable,
                existing_server_default=default,
                **({"server_default": None if nullable else default} if default else {}),
            )
        for name in _REAL:
            steps.alter_column(name, existing_type=sa.Double(), nullable=nullable)
        for name, length in _TEXT.items():
            steps.alter_column(name, existing_type=sa.String(length), nullable=nullable)


def _sort_known_runs() -> None:
    """What a list is sorted by was in the JSON of the newest step only."""
    names = ("key", "last_step", "last_reward", "last_loss", "last_batch_size")
    runs = sa.table("runs", *map(sa.column, names))
    connection = op.get_bind()
    rows = connection.execute(sa.select(runs.c.key, runs.c.last_step).where(runs.c.last_step.is_not(None))).all()
    for key, text in rows:
        last = json.loads(text)
        connection.execute(
            sa.update(runs)
            .where(runs.c.key == key)
            .values(
                last_reward=_sortable(last.get("reward")),
                last_loss=_sortable(last.get("loss")),
                last_batch_size=last.get("global_batch_size"),
            )
        )


def _sortable(value: object) -> float | None:
    if value is None or math.isnan(number := float(value)):
        return None
    return max(-_LARGEST, min(_LARGEST, number))
