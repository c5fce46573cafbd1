"""Tokens: the admin token of the first start, browser sessions, login codes, ingest tokens of attempts."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import insert, or_, select, update

from server.auth.access import Access, Principal
from server.auth.random_token import hash_token, new_token
from server.auth.schemas import NewToken, TokenInfo
from server.database.engine import Database
from server.database.tables import attempts, login_codes, runs, tokens
from server.database.writer import Transaction, Writer
from server.errors import ConflictError, NotFoundError

SESSION_LIFETIME = timedelta(days=30)
CODE_LIFETIME = timedelta(minutes=15)
_MAX_REMEMBERED = 10_000
_MAX_LISTED = 1000


class TokenStore:
    """Makes tokens and tells whose they are. Safe from any thread."""

    def __init__(self, database: Database, writer: Writer, admin_token_path: Path) -> None:
        self._database = database
        self._writer = writer
        self._admin_token_path = admin_token_path
        # What does not end by itself, by hash: an ingest token is asked for with every record of a run.
        self._remembered: dict[str, Principal] = {}
        self._admin_hash = ""
        self._rotating = threading.Lock()
        self._counting = threading.Lock()
        self._num_ended = 0

    @property
    def num_ended(self) -> int:
        """How many tokens were revoked or rotated since the start: while it stays, no token ended but by its time."""
        return self._num_ended

    def _count_ended(self) -> None:
        with self._counting:
            self._num_ended += 1

    def prepare(self) -> None:
        """Make the admin token at the first start; later starts use the one in the file."""
        self._admin_hash = hash_token(_read_or_create(self._admin_token_path))
        self._remembered[self._admin_hash] = Principal(access=Access.ADMIN, name="admin")

    def remembered(self, token: str) -> Principal | None:
        """Whose token it is, if that is known without the database."""
        return self._remembered.get(hash_token(token))

    def principal(self, token: str) -> Principal | None:
        """Whose token it is, or None when it is unknown, expired or revoked."""
        hashed, now = hash_token(token), datetime.now(UTC)
        with self._database.read() as connection:
            row = connection.execute(
                select(tokens.c.access, tokens.c.name).where(
                    tokens.c.token_hash == hashed,
                    tokens.c.revoked_at.is_(None),
                    or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now),
                )
            ).one_or_none()
            if row is not None:
                return Principal(access=Access(row.access), name=row.name)
            row = connection.execute(
                select(runs.c.id, attempts.c.number)
                .join(runs, runs.c.key == attempts.c.run_key)
                .where(attempts.c.token_hash == hashed)
            ).one_or_none()
        if row is None:
            return None
        name = f"attempt {row.number} of {row.id}"
        principal = Principal(access=Access.INGEST, name=name, run_id=row.id, attempt=row.number)
        if len(self._remembered) < _MAX_REMEMBERED:
            self._remembered[hashed] = principal
        return principal

    def create(self, *, access: Access, name: str) -> tuple[int, str]:
        """Make a token for programs: its id and its secret, which is told here and never again."""
        token = new_token("swt")
        token_id = self._writer.run(
            lambda transaction: _insert(transaction, token, kind="api", access=access, name=name)
        )
        return token_id, token

    def known(self) -> list[TokenInfo]:
        """The newest tokens, without their secrets; those that have expired or were revoked too."""
        query = select(*(tokens.c[name] for name in TokenInfo.model_fields)).order_by(tokens.c.id.desc())
        with self._database.read() as connection:
            rows = connection.execute(query.limit(_MAX_LISTED)).mappings().all()
        return [TokenInfo.model_validate(dict(row)) for row in rows]

    def revoke(self, token_id: int) -> None:
        """End a token at once; again is harmless. Raises NotFoundError."""

        def work(transaction: Transaction) -> None:
            mine = tokens.c.id == token_id
            if transaction.connection.scalar(select(tokens.c.id).where(mine)) is None:
                raise NotFoundError(f"There is no token with the id {token_id}.")
            revoke = update(tokens).where(mine, tokens.c.revoked_at.is_(None)).values(revoked_at=datetime.now(UTC))
            transaction.connection.execute(revoke)

        self._writer.run(work)
        self._count_ended()

    def rotate(self, token_id: int) -> NewToken:
        """Give a program's token another secret; the old one ends at once. Raises NotFoundError or ConflictError."""
        token = new_token("swt")

        def work(transaction: Transaction) -> NewToken:
            connection, mine = transaction.connection, tokens.c.id == token_id
            row = connection.execute(select(tokens).where(mine)).one_or_none()
            if row is None:
                raise NotFoundError(f"There is no token with the id {token_id}.")
            if row.kind != "api" or row.revoked_at is not None:
                what = "a browser's session" if row.kind != "api" else "revoked"
                raise ConflictError("not-rotatable", f"The token is {what}; make a new one instead.")
            connection.execute(
                update(tokens).where(mine).values(token_hash=hash_token(token), rotated_at=datetime.now(UTC))
            )
            return NewToken(id=token_id, name=row.name, access=row.access, token=token)

        rotated = self._writer.run(work)
        self._count_ended()
        return rotated

    def rotate_admin(self) -> str:
        """Give the admin token another secret, in its file too; the old one ends at once.

        Tokens and sessions that were made with the old one go on; they can be listed and revoked.
        """
        token = new_token("swa")
        partial = self._admin_token_path.with_name(self._admin_token_path.name + ".new")
        with self._rotating:
            partial.unlink(missing_ok=True)
            _create(partial, token)
            # The note of who asked for it is kept before anything has changed.
            self._writer.run(lambda _: None)
            partial.replace(self._admin_token_path)
            self._remembered[hash_token(token)] = Principal(access=Access.ADMIN, name="admin")
            old, self._admin_hash = self._admin_hash, hash_token(token)
            self._remembered.pop(old, None)
        self._count_ended()
        return token

    def create_login_code(self) -> str:
        """Make a code that turns into a browser session once, within fifteen minutes."""
        code, now = new_token("swc"), datetime.now(UTC)

        def work(transaction: Transaction) -> None:
            values = {"code_hash": hash_token(code), "created_at": now, "expires_at": now + CODE_LIFETIME}
            transaction.connection.execute(insert(login_codes).values(values))

        self._writer.run(work)
        return code

    def redeem_login_code(self, code: str) -> str | None:
        """Turn a code into a session token, or return None when it is unknown, used or too old."""
        session, now = new_token("sws"), datetime.now(UTC)

        def work(transaction: Transaction) -> str | None:
            used = transaction.connection.execute(
                update(login_codes)
                .where(
                    login_codes.c.code_hash == hash_token(code),
                    login_codes.c.used_at.is_(None),
                    login_codes.c.expires_at > now,
                )
                .values(used_at=now)
            )
            if used.rowcount == 0:
                return None
            expires = now + SESSION_LIFETIME
            _insert(transaction, session, kind="session", access=Access.ADMIN, name="browser", expires_at=expires)
            return session

        return self._writer.run(work)


def _insert(
    transaction: Transaction,
    token: str,
    *,
    kind: str,
    access: Access,
    name: str,
    expires_at: datetime | None = None,
) -> int:
    row = insert(tokens).values(
        kind=kind,
        name=name,
        access=access,
        token_hash=hash_token(token),
        created_at=datetime.now(UTC),
        expires_at=expires_at,
    )
    return int(transaction.connection.execute(row.returning(tokens.c.id)).scalar_one())


def _read_or_create(path: Path) -> str:
    token = new_token("swa")
    try:
        _create(path, token)
    except FileExistsError:
        token = path.read_text().strip()
        if not token:
            raise ValueError(f"{path} is empty; remove it, and the next start makes a new token") from None
        return token
    return token


def _create(path: Path, token: str) -> None:
    """Write a file that is not there yet. Raises FileExistsError."""
    # O_EXCL and the mode in one call: the file is never readable by others, not even for a moment.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
