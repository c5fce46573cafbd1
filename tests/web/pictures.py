"""Takes a picture of every page in every state: `python -m tests.web.pictures FOLDER [WORD …]`, to be looked at.

A word names a page, a state, a width or a theme; without words of a kind all of it is taken.
The servers and their records are made for it.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.web.browser import running_browser
from tests.web.conftest import login_url
from tests.web.pictured_runs import Pictured, pictured_servers

WIDTHS = {"wide": 1600, "narrow": 420}
THEMES = ("light", "dark")
HEIGHT = 1000
TABS = ("", "schedule", "timeline", "rollouts", "logs", "config", "checkpoints", "events", "ledger", "system")
PAGES = ("runs", "compare", "new", *(tab or "overview" for tab in TABS))
SETTLE_MS = {"loading": 900}
"""Bars stand from 150 ms on. Every other state has as long as the slowest page needs."""
USUAL_SETTLE_MS = 2500
OF_RUNS = ("external", "pruned", "broken", "stillborn", "advised", "skipped", "paused", "lost", "queued")
PRUNED_SEARCH = {"schedule": "?step=1", "timeline": "?step=1", "rollouts": "?iteration=1"}
STATES = ("live", "empty", "loading", "failed", *OF_RUNS)


def main(folder: str, words: list[str]) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    pages, states = _chosen(PAGES, words), _chosen(STATES, words)
    with pictured_servers() as shown, running_browser() as browser:
        for width, theme in itertools.product(_chosen(WIDTHS, words), _chosen(THEMES, words)):
            with _signed_in(browser, shown, px=WIDTHS[width], theme=theme) as context:
                for name, state in itertools.product(pages, states):
                    if state not in OF_RUNS or name not in ("runs", "compare", "new"):
                        path = out / f"{name}-{state}-{width}-{theme}.png"
                        _take(context, shown, name, state, path)
                        sys.stdout.write(f"{path.name}\n")
                        sys.stdout.flush()


def _chosen(kind: Iterable[str], words: list[str]) -> list[str]:
    return [one for one in kind if one in words] or list(kind)


@contextmanager
def _signed_in(browser: Browser, shown: Pictured, *, px: int, theme: str) -> Iterator[BrowserContext]:
    context = browser.new_context(
        viewport={"width": px, "height": HEIGHT}, color_scheme="dark" if theme == "dark" else "light"
    )
    for server in (shown.full, shown.bare):
        page = context.new_page()
        page.goto(login_url(server))
        page.close()
    yield context
    context.close()


def _take(context: BrowserContext, shown: Pictured, name: str, state: str, path: Path) -> None:
    page = context.new_page()
    _hold_or_fail(page, state, name)
    page.goto(address(shown, name, state))
    page.wait_for_timeout(SETTLE_MS.get(state, USUAL_SETTLE_MS))
    if state != "loading":
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
    is_whole = state not in ("empty", "loading", "failed")
    if is_whole:
        _see_all(page)
    page.screenshot(path=path, full_page=is_whole)
    page.unroute_all(behavior="ignoreErrors")
    page.close()


def _see_all(page: Page) -> None:
    """Charts are drawn once they are near the screen."""
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    for top in (*range(HEIGHT, height, HEIGHT), 0):
        page.evaluate("top => scrollTo(0, top)", top)
        page.wait_for_timeout(250)


def address(shown: Pictured, name: str, state: str) -> str:
    if name in ("runs", "compare", "new"):
        server = shown.bare if state == "empty" else shown.full
        compared = json.dumps([shown.runs["live"], shown.runs["broken"], shown.runs["pruned"]])
        plain = {"runs": "/", "compare": "/compare", "new": "/new"}
        full = {"runs": "/", "compare": f"/compare?runs={compared}", "new": "/new?example=demo"}
        return server.url + (plain if state == "empty" else full)[name]
    run = shown.runs.get(state, shown.runs["live"])
    asked = PRUNED_SEARCH.get(name, "") if state == "pruned" else ""
    return f"{shown.full.url}/runs/{run}/{'' if name == 'overview' else name}{asked}"


def _hold_or_fail(page: Page, state: str, name: str) -> None:
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
