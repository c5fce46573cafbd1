"""Ids of runs: `run_` and a ULID, so that ids sort by creation (https://github.com/ulid/spec)."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

from server.database.tables import to_microseconds

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PATTERN = re.compile(rf"run_[0-7][{_CROCKFORD}]{{25}}")


def new_run_id(created_at: datetime) -> str:
    """48 bits of milliseconds and 80 random bits, five to a character."""
    number = (to_microseconds(created_at) // 1000) << 80 | secrets.randbits(80)
    return "run_" + "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def is_run_id(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None
