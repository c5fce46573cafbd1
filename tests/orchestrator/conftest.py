"""How thoroughly property tests search: quickly by default, `HYPOTHESIS_PROFILE=thorough` for a long look."""

from __future__ import annotations

import os

from hypothesis import settings

# Times say little on shared machines, so no example has a deadline.
settings.register_profile("quick", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
