"""The live stream in browsers that lack what it is shared by, and over a break that is short, in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LaunchedRun, LiveServer
from tests.web.browser import Watched, watched_context
from tests.web.charts_read import drawn_points, recorded_points
from tests.web.conftest import login_url
from tests.web.cuttable_proxy import CuttableProxy
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack

WITHOUT_WORKER = "delete window.SharedWorker"
WORKER_FORBIDDEN = """window.SharedWorker = class {
  constructor() { throw new DOMException("forbidden here", "SecurityError") }
}"""
ALONE = "delete window.SharedWorker; delete window.BroadcastChannel; delete Navigator.prototype.locks"
LIVE_AGAIN_WITHIN_MS = 30_000
"""Tries are at most 10 s apart; the rest is for a machine that has other work."""
CLOSED_WITHIN_S = 20.0


@pytest.fixture
def proxy(server: LiveServer) -> Iterator[CuttableProxy]:
    proxy = CuttableProxy(server.settings.port)
    yield proxy
    proxy.cut()


@pytest.fixture
def run(server: LiveServer) -> LaunchedRun:
    run = server.launch(name="followed")
    record(server, run, range(3))
    return run


def open_tabs(
    server: LiveServer, proxy: CuttableProxy, watched: Watched, run: LaunchedRun, *, lacks: str
) -> tuple[Page, Page]:
    """Two tabs at the overview of the run, the first of which opened first."""
    watched.context.add_init_script(lacks)
    login = watched.open()
    login.goto(login_url(server, proxy.url))
    expect(login.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    login.close()
    tabs = watched.open(), watched.open()
    for tab in tabs:
        tab.goto(f"{proxy.url}/runs/{run.id}")
        expect_steps(tab, 3)
    return tabs


def expect_steps(tab: Page, count: int) -> None:
    expect(tab.get_by_text(f"Steps 0 to {count - 1}", exact=True)).to_be_visible()


def expect_streams(tab: Page, proxy: CuttableProxy, *, cursors: list[bool]) -> None:
    """So many streams are open; each says whether it asked for what came after an event."""
    ends_at = time.monotonic() + CLOSED_WITHIN_S
    while (told := ["cursor=" in line for line in proxy.open_requests("/api/v1/events")]) != cursors:
        assert time.monotonic() < ends_at, told
        tab.wait_for_timeout(50)


def has_all_points(server: LiveServer, run: LaunchedRun, tab: Page, count: int) -> bool:
    chart = tab.get_by_role("img", name=re.compile("^Batch size and loss"))
    return drawn_points(chart, count) == recorded_points(server, run)


@pytest.mark.parametrize("lacks", [WITHOUT_WORKER, WORKER_FORBIDDEN], ids=["without", "forbidden"])
def test_without_a_shared_worker_a_tab_leads_and_the_next_goes_on_without_a_gap(
    server: LiveServer, proxy: CuttableProxy, browser: Browser, run: LaunchedRun, lacks: str
) -> None:
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        leader, other = open_tabs(server, proxy, watched, run, lacks=lacks)
        record(server, run, [3])
        for tab in (leader, other):
            expect_steps(tab, 4)
            expect(tab.get_by_text("Live", exact=True)).to_be_visible()
        expect_streams(other, proxy, cursors=[False])
        other.evaluate("window.isSamePage = true")
        leader.close()
        record(server, run, range(4, 7))
        expect_steps(other, 7)
        record(server, run, [7])
        expect_steps(other, 8)
        assert has_all_points(server, run, other, 8)
        # The one that goes on asks for what came after the last event that it has heard of.
        expect_streams(other, proxy, cursors=[True])
        assert other.evaluate("window.isSamePage")
        assert watched.errors == []


def test_where_tabs_cannot_talk_each_has_a_stream_of_its_own(
    server: LiveServer, proxy: CuttableProxy, browser: Browser, run: LaunchedRun
) -> None:
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        first, second = open_tabs(server, proxy, watched, run, lacks=ALONE)
        record(server, run, [3])
        for tab in (first, second):
            expect_steps(tab, 4)
            expect(tab.get_by_text("Live", exact=True)).to_be_visible()
        expect_streams(second, proxy, cursors=[False, False])
        first.close()
        record(server, run, [4])
        expect_steps(second, 5)
        assert has_all_points(server, run, second, 5)
        expect_streams(second, proxy, cursors=[False])
        assert watched.errors == []


def test_a_short_break_is_reconnecting_and_then_live_with_what_came_meanwhile(
    server: LiveServer, proxy: CuttableProxy, browser: Browser, run: LaunchedRun
) -> None:
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        page = watched.open()
        page.goto(login_url(server, proxy.url))
        page.goto(f"{proxy.url}/runs/{run.id}")
        record(server, run, [3])
        expect_steps(page, 4)
        page.evaluate("window.isSamePage = true")
        proxy.cut()
        expect(page.get_by_text("Reconnecting", exact=True)).to_be_visible()
        record(server, run, [4, 5])
        expect_steps(page, 4)
        proxy.mend()
        expect(page.get_by_text("Live", exact=True)).to_be_visible(timeout=LIVE_AGAIN_WITHIN_MS)
        expect(page.get_by_text("Reconnecting", exact=True)).to_have_count(0)
        expect_steps(page, 6)
        assert has_all_points(server, run, page, 6)
        assert page.evaluate("window.isSamePage")
