"""The pages of the dashboard, as its routes have them: a page that is added there is looked at by every test of all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.web.browser import WEB

_PATH = re.compile(r'^  path: "([^"]+)",$', re.MULTILINE)
_IN_A_RUN = "getParentRoute: () => runRoute"


def routes() -> list[str]:
    """Every address, with `$runId` in those of a run's pages."""
    files = sorted((WEB / "src" / "app").glob("*route*.tsx"))
    source = "".join(file.read_text(encoding="utf8") for file in files)
    found: list[str] = []
    for block in source.split("createRoute({")[1:]:
        path = _PATH.search(block)
        assert path is not None, "a route without a path"
        found.append(f"/runs/$runId{path[1]}" if _IN_A_RUN in block else path[1])
    found.remove("/runs/$runId")  # what the pages of a run have in common
    return found


def tabs() -> list[str]:
    """The pages of a run, after its own address."""
    return [route.removeprefix("/runs/$runId/") for route in routes() if route.startswith("/runs/")]


def addresses(run_id: str, others: Sequence[str] = ()) -> list[str]:
    """Every page, of this run where it is a run's, and compared with these others."""
    searches = {
        "/compare": f"?runs=[{','.join(f'%22{one}%22' for one in (run_id, *others))}]",
        "/new": f"?from={run_id}",
    }
    return [route.replace("$runId", run_id) + searches.get(route, "") for route in routes()]
