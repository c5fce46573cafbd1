"""Alembic migrations of the server's database; `server/database/migrate.py` applies them."""
