"""Seeds for the parts of a run, derived from the run's own."""

from __future__ import annotations

import hashlib

_MAX_SEED = 2**31
"""Some tasks hand their seed to NumPy, which takes 32 bits, after adding an index to it."""


def derive_seed(*parts: object) -> int:
    """A seed for each list of parts. Unlike sums of seeds, those of neighbouring runs have nothing in common."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % _MAX_SEED
