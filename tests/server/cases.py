"""The agreed cases of tests/cases, by id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CASES = Path(__file__).parent.parent / "cases"


def case(file: str, case_id: str) -> dict[str, Any]:
    """One case: `given`, `expect` and more."""
    cases = json.loads((_CASES / file).read_text())["cases"]
    return next(dict(each) for each in cases if each["id"] == case_id)
