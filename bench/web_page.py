"""A page of the dashboard to be measured, and how it is asked. For `bench.web` and `bench.web_frames`."""

from __future__ import annotations

import sys

from playwright.sync_api import Browser, Page

from tests.server.live_server import LiveServer
from tests.web.conftest import login_url

WAIT_MS = 60_000
_VIEWPORT = {"width": 1600, "height": 1000}


def signed_in(browser: Browser, server: LiveServer) -> Page:
    """A page of a browser of its own."""
    page = browser.new_context(viewport=_VIEWPORT).new_page()  # type: ignore[arg-type]
    page.goto(login_url(server))
    return page


def heap_mb(page: Page) -> float:
    """What its scripts hold, after everything that is let go has been collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = float(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used / 1e6


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
