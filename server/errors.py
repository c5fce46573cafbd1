"""Domain errors that the API answers with a problem. One handler maps them; nothing below the endpoints knows HTTP."""

from __future__ import annotations


class NotFoundError(Exception):
    """What was asked for does not exist."""


class ConflictError(Exception):
    """It cannot be done in the present state. `code` tells clients which conflict it is.

    pointer: JSON pointer to the part of the body that conflicts; None: it is not for a part of the body.
    """

    def __init__(self, code: str, message: str, *, pointer: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.pointer = pointer


class KeyReusedError(Exception):
    """An idempotency key came with another request than before."""


class StaleVersionError(Exception):
    """What should be changed has changed since the caller read it."""


class BusyError(Exception):
    """Too much waits already; the caller should try again in a moment."""


class InvalidError(Exception):
    """What was sent is well formed and wrong. Each entry of `errors` is (JSON pointer, sentence)."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(detail for _, detail in errors))
        self.errors = errors
