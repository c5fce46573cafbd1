"""The check behind If-Match: a run is changed as its reader saw it, or not at all."""

from __future__ import annotations

from server.errors import StaleVersionError


def check_version(present: int, read: int | None) -> None:
    """Raises StaleVersionError when the run has changed since it was read; None: whatever it is now."""
    if read is not None and read != present:
        raise StaleVersionError(f"The run is at version {present}, not at {read}; read it again.")
