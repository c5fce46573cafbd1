"""Addresses that nobody should write: what a page cannot use of one falls away, and the page stands."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import watched_context
from tests.web.conftest import login_url
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack

UNUSABLE = ("pins=5", "smooth=NaN", "from=NaN&to=5", "from=0&to=1e400", "x=elsewhere", "unknown=1")


def test_what_a_page_cannot_use_of_its_address_falls_away(server: LiveServer, page: Page) -> None:
    run = server.launch(name="linked to")
    record(server, run, range(3))
    overview = f"{server.url}/runs/{run.id}"
    for search in UNUSABLE:
        page.goto(f"{overview}?{search}&log=true")
        expect(page.get_by_text("Steps 0 to 2", exact=True)).to_be_visible()
        expect(page).to_have_url(f"{overview}?log=true")


def test_a_range_wider_than_a_number_leaves_the_page_alive(server: LiveServer, page: Page) -> None:
    run = server.launch(name="linked to")
    record(server, run, range(3))
    page.goto(f"{server.url}/runs/{run.id}?from=-1.7e308&to=1.7e308")
    expect(page.get_by_text("Steps 0 to 2", exact=True)).to_be_visible()
    page.keyboard.press("0")
    expect(page).to_have_url(f"{server.url}/runs/{run.id}")


def test_a_step_far_beyond_the_newest_leaves_the_strip_its_width(server: LiveServer, browser: Browser) -> None:
    run = server.launch(name="linked to")
    record(server, run, range(3))
    # The browser logs the server's 404 as an error.
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        page = watched.open()
        page.goto(login_url(server))
        page.goto(f"{server.url}/runs/{run.id}/schedule?step=1000000000")
        expect(page.get_by_text("Step 1,000,000,000 is not recorded")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
