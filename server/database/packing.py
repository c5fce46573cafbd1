"""Bulky parts of records as compact blobs: JSON, and columns of floats. Nothing is lost on the way."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

_ZLIB_LEVEL = 3


def pack_json(value: Any) -> bytes:
    """JSON under zlib. `value` is what orjson takes, or JSON as bytes already."""
    return zlib.compress(value if isinstance(value, bytes) else orjson.dumps(value), _ZLIB_LEVEL)


def unpack_json(blob: bytes) -> Any:
    return orjson.loads(zlib.decompress(blob))


def pack_floats(values: Sequence[float]) -> bytes:
    """Floats under zlib: 4 bytes each where that holds every one of them exactly, else 8.

    Models compute log-probs in 32 bits, so that most columns take half the room.
    """
    exact = np.asarray(values, dtype="<f8")
    with np.errstate(over="ignore"):
        short = exact.astype("<f4")
    return zlib.compress((short if np.array_equal(short.astype("<f8"), exact) else exact).tobytes(), _ZLIB_LEVEL)


def unpack_floats(blob: bytes, size: int) -> tuple[float, ...]:
    """The floats that were packed. size: how many they are."""
    data = zlib.decompress(blob)
    return tuple(np.frombuffer(data, dtype="<f8" if len(data) == 8 * size else "<f4").tolist())
