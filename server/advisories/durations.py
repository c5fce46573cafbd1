"""Lengths of time in the sentences of rules, as the dashboard writes them. Pure."""

from __future__ import annotations

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400


def duration(seconds: float) -> str:
    """The two largest units; seconds ≥ 0.

    >>> duration(0.84), duration(42.8), duration(291), duration(61_560), duration(93_600)
    ('840 ms', '42.8 s', '4 min 51 s', '17 h 6 min', '1 d 2 h')
    """
    # Each bound lies where rounding would otherwise print a full larger unit, such as 60.0 s.
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE_S - 0.05:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S - 0.5:
        return _pair(seconds, _MINUTE_S, "min", 1, "s")
    if seconds < _DAY_S - _MINUTE_S / 2:
        return _pair(seconds, _HOUR_S, "h", _MINUTE_S, "min")
    return _pair(seconds, _DAY_S, "d", _HOUR_S, "h")


def _pair(seconds: float, large_s: int, large: str, small_s: int, small: str) -> str:
    whole, rest = divmod(round(seconds / small_s), large_s // small_s)
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
