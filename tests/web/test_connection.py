"""The live stream in a real browser: one for all tabs, and nothing lost or doubled over a break."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import Watched, watched_context
from tests.web.charts_read import drawn_points, recorded_points
from tests.web.conftest import login_url
from tests.web.cuttable_proxy import CuttableProxy
from tests.web.pages import tabs as tabs_of_a_run
from tests.web.recorded_run import record, step_lengths, tell

pytestmark = pytest.mark.stack

NUM_TABS = 10
DROP_S = 30
SLEEP_MS = 2_000
STALE_WITHIN_MS = 30_000
LIVE_AGAIN_WITHIN_MS = 30_000
"""It is stale after 10 s, and tries are at most 10 s apart; the rest is for a machine that has other work."""


@pytest.fixture
def proxy(server: LiveServer) -> Iterator[CuttableProxy]:
    proxy = CuttableProxy(server.settings.port)
    yield proxy
    proxy.cut()


def test_all_tabs_of_a_browser_share_one_stream(server: LiveServer, proxy: CuttableProxy, browser: Browser) -> None:
    run = server.launch(name="shared")
    with watched_context(browser) as watched:
        tabs = [watched.open() for _ in range(NUM_TABS)]
        tabs[0].goto(login_url(server, proxy.url))
        for tab, path in zip(tabs[1:], tabs_of_a_run(), strict=False):
            tab.goto(f"{proxy.url}/runs/{run.id}/{path}")
        record(server, run, [0])
        for tab in tabs:
            expect(tab.get_by_text("Running", exact=True).last).to_be_visible()
        tell(server, run, "state", outcome="failed", reason="loss is NaN on rank 1")
        for tab in tabs:
            expect(tab.get_by_text("loss is NaN on rank 1").first).to_be_visible()
        assert len(proxy.open_requests("/api/v1/events")) == 1
        assert watched.errors == []


def open_pages(server: LiveServer, proxy: CuttableProxy, watched: Watched, paths: Sequence[str]) -> list[Page]:
    """A tab for each path, in a browser that signed in by the first of them."""
    pages = [watched.open() for _ in paths]
    pages[0].goto(login_url(server, proxy.url))
    for page, path in zip(pages, paths, strict=True):
        page.goto(proxy.url + path)
    return pages


def test_what_happens_before_the_stream_opens_is_not_missed(
    server: LiveServer, proxy: CuttableProxy, browser: Browser
) -> None:
    run = server.launch(name="goes on")
    record(server, run, range(5))
    proxy.hold("/api/v1/events")
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        runs, overview, schedule = open_pages(
            server, proxy, watched, ["/", f"/runs/{run.id}", f"/runs/{run.id}/schedule"]
        )
        expect(runs.get_by_role("row")).to_have_count(2)
        expect(overview.get_by_text("Steps 0 to 4", exact=True)).to_be_visible()
        expect(schedule.get_by_role("heading", name="Step 4")).to_be_visible()
        server.submit(name="made meanwhile")
        record(server, run, range(5, 9))
        proxy.release()
        expect(runs.get_by_role("row")).to_have_count(3)
        expect(runs.get_by_role("row").filter(has_text="goes on")).to_contain_text(f"{len(step_lengths(8))}")
        expect(overview.get_by_text("Steps 0 to 8", exact=True)).to_be_visible()
        expect(schedule.get_by_role("heading", name="Step 8")).to_be_visible()
        # And from here on the stream tells.
        record(server, run, [9])
        expect(overview.get_by_text("Steps 0 to 9", exact=True)).to_be_visible()
        expect(schedule.get_by_role("heading", name="Step 9")).to_be_visible()
        assert watched.errors == []


def test_a_page_that_comes_back_from_the_browsers_cache_catches_up(server: LiveServer, browser: Browser) -> None:
    run = server.launch(name="left and come back to")
    record(server, run, range(3))
    with watched_context(browser) as watched:
        page = watched.open()
        page.goto(login_url(server))
        page.goto(f"{server.url}/runs/{run.id}")
        expect(page.get_by_text("Steps 0 to 2", exact=True)).to_be_visible()
        page.evaluate("addEventListener('pageshow', (event) => { window.wasKept = event.persisted })")
        page.goto("data:text/html,elsewhere")
        record(server, run, range(3, 7))
        # A page that was kept is not loaded again.
        page.go_back(wait_until="commit")
        expect(page.get_by_text("Steps 0 to 6", exact=True)).to_be_visible()
        assert page.evaluate("window.wasKept")
        record(server, run, [7])
        expect(page.get_by_text("Steps 0 to 7", exact=True)).to_be_visible()
        assert watched.errors == []


def test_half_a_minute_without_network_is_told_and_leaves_no_gap_and_no_double(
    server: LiveServer, proxy: CuttableProxy, browser: Browser
) -> None:
    run = server.launch(name="goes on")
    record(server, run, range(10))
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        runs, overview = open_pages(server, proxy, watched, ["/", f"/runs/{run.id}"])
        size = runs.get_by_role("row").filter(has_text="goes on").get_by_role("cell").nth(5)
        expect(size).to_have_text(str(len(step_lengths(9))))
        expect(overview.get_by_text("Steps 0 to 9", exact=True)).to_be_visible()
        record(server, run, [10])
        expect(overview.get_by_text("Steps 0 to 10", exact=True)).to_be_visible()
        for page in (runs, overview):
            page.evaluate("window.isSamePage = true")
        proxy.cut()
        ends_at = time.monotonic() + DROP_S
        record(server, run, range(11, 20))
        for page in (runs, overview):
            expect(page.get_by_text("Stale since").first).to_be_visible(timeout=STALE_WITHIN_MS)
            expect(page.get_by_text("No connection to the server.")).to_be_visible()
        record(server, run, range(20, 48))
        runs.get_by_role("button", name="Try now").click()
        overview.wait_for_timeout(max(0.0, ends_at - time.monotonic()) * 1e3)
        proxy.mend()
        expect(overview.get_by_text("Steps 0 to 47", exact=True)).to_be_visible(timeout=LIVE_AGAIN_WITHIN_MS)
        for page in (runs, overview):
            expect(page.get_by_text("Live", exact=True)).to_be_visible()
            expect(page.get_by_text("Caught up: 37 steps")).to_be_attached()
        expect(size).to_have_text(str(len(step_lengths(47))))
        record(server, run, [48])
        expect(overview.get_by_text("Steps 0 to 48", exact=True)).to_be_visible()
        chart = overview.get_by_role("img", name=re.compile("^Batch size and loss"))
        assert drawn_points(chart, 49) == recorded_points(server, run)
        assert runs.evaluate("window.isSamePage")
        assert overview.evaluate("window.isSamePage")


def test_a_tab_that_slept_has_each_step_once(server: LiveServer, browser: Browser) -> None:
    run = server.launch(name="slept through")
    record(server, run, range(3))
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        page = watched.open()
        page.goto(login_url(server))
        page.goto(f"{server.url}/runs/{run.id}")
        expect(page.get_by_text("Steps 0 to 2", exact=True)).to_be_visible()
        debugger = watched.context.new_cdp_session(page)
        debugger.send("Debugger.enable")
        with page.expect_event("console", lambda message: message.text == "sleeps"):
            page.evaluate("setTimeout(() => { console.log('sleeps'); debugger }, 0)")
        # Nothing of the tab runs now, no timer and no message; the worker that holds the stream goes on.
        for first in range(3, 60, 3):
            record(server, run, range(first, first + 3))
        page.wait_for_timeout(SLEEP_MS)
        debugger.send("Debugger.resume")
        expect(page.get_by_text("Steps 0 to 59", exact=True)).to_be_visible()
        record(server, run, [60])
        expect(page.get_by_text("Steps 0 to 60", exact=True)).to_be_visible()
        chart = page.get_by_role("img", name=re.compile("^Batch size and loss"))
        assert drawn_points(chart, 61) == recorded_points(server, run)
        assert watched.errors == []
