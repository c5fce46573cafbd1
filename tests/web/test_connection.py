"""The live stream in a real browser: one for all tabs, and nothing lost or doubled over a break."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.server.live_server import LiveServer
from tests.web.browser import watched_context
from tests.web.conftest import login_url
from tests.web.cuttable_proxy import CuttableProxy
from tests.web.recorded_run import record, step_lengths

pytestmark = pytest.mark.stack

STALE_WITHIN_MS = 15_000
LIVE_AGAIN_WITHIN_MS = 15_000
"""Tries are at most 10 s apart."""


@pytest.fixture
def proxy(server: LiveServer) -> Iterator[CuttableProxy]:
    proxy = CuttableProxy(server.settings.port)
    yield proxy
    proxy.cut()


def test_all_tabs_of_a_browser_share_one_stream(server: LiveServer, proxy: CuttableProxy, browser: Browser) -> None:
    run = server.launch(name="shared")
    with watched_context(browser) as watched:
        tabs = [watched.open() for _ in range(8)]
        tabs[0].goto(login_url(server, proxy.url))
        for tab in tabs[1:]:
            tab.goto(f"{proxy.url}/runs/{run.id}")
        record(server, run, [0])
        for tab in tabs:
            expect(tab.get_by_text("Running", exact=True).last).to_be_visible()
        assert sum("/api/v1/events" in line for line in proxy.request_lines) == 1
        assert watched.errors == []


def test_a_break_is_told_and_mended_without_a_reload(
    server: LiveServer, proxy: CuttableProxy, browser: Browser
) -> None:
    run = server.launch(name="goes on")
    with watched_context(browser) as watched:
        page = watched.open()
        page.goto(login_url(server, proxy.url))
        cells = page.get_by_role("row").filter(has_text="goes on").get_by_role("cell")
        expect(cells.first).to_have_text("Starting")
        record(server, run, [0])
        expect(cells.nth(4)).to_have_text(str(len(step_lengths(0))))
        page.evaluate("window.isSamePage = true")
        proxy.cut()
        record(server, run, range(1, 38))
        expect(page.get_by_text("Stale since").first).to_be_visible(timeout=STALE_WITHIN_MS)
        expect(page.get_by_text("No connection to the server.")).to_be_visible()
        page.get_by_role("button", name="Try now").click()
        proxy.mend()
        expect(page.get_by_text("Live", exact=True)).to_be_visible(timeout=LIVE_AGAIN_WITHIN_MS)
        expect(cells.nth(4)).to_have_text(str(len(step_lengths(37))))
        expect(page.get_by_text("Caught up: 37 steps")).to_be_visible()
        assert page.evaluate("window.isSamePage")
