"""What Alembic runs for every command. The connection comes from the caller, or for `make migration` from SQLite."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import create_engine

from server.database.tables import Timestamp, metadata


def _render_item(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    # A migration says what it meant when it was written: it must not import a class that may change.
    return "sa.BigInteger()" if kind == "type" and isinstance(item, Timestamp) else False


connection = context.config.attributes.get("connection")
if connection is None:
    # Only the command line comes here: `alembic revision --autogenerate` compares with the database of SWELL_HOME.
    from server.settings import Settings

    connection = create_engine(Settings.from_environment().resolved_database_url).connect()

# SQLite cannot alter columns: batch mode copies the table instead.
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    render_item=_render_item,
)
with context.begin_transaction():
    context.run_migrations()
