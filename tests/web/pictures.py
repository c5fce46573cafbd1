"""Takes a picture of every page in every state: `python -m tests.web.pictures FOLDER [PAGE …]`, to be looked at.

Pages are live, empty, loading or failed; wide or narrow; light or dark. The server and its records are made for it.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, Route

from tests.server.live_server import LiveServer, running_server
from tests.web.browser import running_browser
from tests.web.conftest import login_url
from tests.web.whole_run import record_whole_run

State = Literal["live", "empty", "loading", "failed"]

STATES: tuple[State, ...] = ("live", "empty", "loading", "failed")
WIDTHS = {"wide": 1600, "narrow": 420}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 1000
TABS = ("", "schedule", "timeline", "rollouts", "logs", "config", "checkpoints", "events", "ledger", "system")
SETTLE_MS = {"live": 2500, "empty": 1200, "loading": 900, "failed": 1200}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A server with records, and one without."""

    full: LiveServer
    bare: LiveServer
    live_run: str
    fresh_run: str


def main(folder: str, wanted: list[str]) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with shown_servers() as shown, running_browser() as browser:
        for (width, px), theme in itertools.product(WIDTHS.items(), THEMES):
            for page_name, state in itertools.product(pages(), STATES):
                if not wanted or page_name in wanted:
                    path = out / f"{page_name}-{state}-{width}-{theme}.png"
                    take(browser, shown, page_name, state, px=px, theme=theme, path=path)
                    sys.stdout.write(f"{path.name}\n")


def pages() -> tuple[str, ...]:
    return ("runs", "compare", "new", *(tab or "overview" for tab in TABS))


@contextmanager
def shown_servers() -> Iterator[Shown]:
    with (
        tempfile.TemporaryDirectory() as home,
        running_server(Path(home) / "full") as full,
        running_server(Path(home) / "bare") as bare,
    ):
        live = record_whole_run(full)
        yield Shown(full=full, bare=bare, live_run=live.id, fresh_run=full.launch(name="fresh").id)


def take(browser: Browser, shown: Shown, name: str, state: State, *, px: int, theme: str, path: Path) -> None:
    server = shown.bare if state == "empty" and name in ("runs", "compare", "new") else shown.full
    context = browser.new_context(
        viewport={"width": px, "height": HEIGHT}, color_scheme="dark" if theme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(login_url(server))
    _hold_or_fail(page, state, name)
    page.goto(server.url + address(shown, name, state))
    page.wait_for_timeout(SETTLE_MS[state])
    page.screenshot(path=path, full_page=state == "live")
    context.unroute_all(behavior="ignoreErrors")
    context.close()


def address(shown: Shown, name: str, state: State) -> str:
    run = shown.fresh_run if state == "empty" else shown.live_run
    if name == "runs":
        return "/"
    if name == "compare":
        return "/compare" if state == "empty" else f"/compare?runs={json.dumps([shown.live_run, shown.fresh_run])}"
    if name == "new":
        return "/new" if state == "empty" else "/new?example=demo"
    return f"/runs/{run}/{'' if name == 'overview' else name}"


def _hold_or_fail(page: Page, state: State, name: str) -> None:
    """The run itself is known: what is looked at is what stands below it."""
    own = "**/api/v1/runs?**" if name == "runs" else "**/api/v1/**"
    if state == "loading":
        page.route(own, lambda route: None if _is_held(route, name) else route.continue_())
    if state == "failed":
        page.route(own, lambda route: _refuse(route) if _is_held(route, name) else route.continue_())


def _is_held(route: Route, name: str) -> bool:
    path = route.request.url.split("/api/v1", 1)[1].split("?")[0]
    is_run_itself = path.startswith("/runs/") and path.count("/") == 2
    return path != "/events" and (name in ("runs", "config") or not is_run_itself)


def _refuse(route: Route) -> None:
    problem = {"type": "/problems/busy", "title": "Busy", "status": 503, "detail": "ingest queue full"}
    route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(problem))


if __name__ == "__main__":
    began = time.monotonic()
    main(sys.argv[1], sys.argv[2:])
    sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
