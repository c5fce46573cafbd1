"""Values of metrics between messages and the table `points`: finite numbers, the three others, and none."""

from __future__ import annotations

from orchestrator.contracts.messages import NonFinite
from server.database.tables import PointKind

# Plain numbers: a database driver takes members of an enum several times as slowly.
_FINITE, _NOT_MEASURED = int(PointKind.FINITE), int(PointKind.NOT_MEASURED)
_KINDS: dict[str, int] = {
    "NaN": int(PointKind.NAN),
    "Infinity": int(PointKind.POSITIVE_INFINITY),
    "-Infinity": int(PointKind.NEGATIVE_INFINITY),
}
NON_FINITE: dict[int, NonFinite] = {
    PointKind.NAN: "NaN",
    PointKind.POSITIVE_INFINITY: "Infinity",
    PointKind.NEGATIVE_INFINITY: "-Infinity",
}


def to_columns(value: float | NonFinite | None) -> tuple[float | None, int]:
    """What the columns `value` and `kind` hold of it."""
    if value is None:
        return None, _NOT_MEASURED
    if isinstance(value, str):
        return None, _KINDS[value]
    return float(value), _FINITE


def from_columns(value: float | None, kind: int) -> float | NonFinite | None:
    return value if kind == PointKind.FINITE else NON_FINITE.get(kind)
