"""A narrow screen in a real browser: all pages can be reached, and what the keyboard reaches is seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.server.live_server import LiveServer
from tests.web.conftest import see_runs
from tests.web.recorded_run import tell

pytestmark = pytest.mark.stack

NARROW = ViewportSize(width=420, height=900)


def test_on_a_narrow_screen_a_menu_leads_to_the_pages(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    page.set_viewport_size(NARROW)
    expect(page.get_by_role("navigation")).to_have_count(0)
    page.get_by_role("button", name="Pages").click()
    expect(page.get_by_role("menuitem")).to_have_text(["Runs", "Compare", "New run", "Keyboard shortcuts"])
    page.get_by_role("menuitem", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("menuitem", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


def test_what_the_keyboard_reaches_is_wholly_in_view(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    for outcome in ("succeeded", "failed"):
        tell(server, server.launch(name=outcome), "state", outcome=outcome)
    server.submit(name="waits")
    page.set_viewport_size(NARROW)
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("textbox", name="Filter runs").focus()
    for chip in page.get_by_role("group", name="State").get_by_role("button").all():
        page.keyboard.press("Tab")
        expect(chip).to_be_focused()
        expect(chip).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [420, 700, 1001, 1261, 1401, 1561])
def test_at_every_width_names_have_room_and_nothing_scrolls_sideways(
    server: LiveServer, page: Page, width: int
) -> None:
    see_runs(page, server)
    for outcome in ("succeeded", "failed"):
        tell(server, server.launch(name=f"qwen3-4b-math-{outcome}"), "state", outcome=outcome)
    page.set_viewport_size(ViewportSize(width=width, height=900))
    names = page.get_by_role("row").get_by_role("link")
    expect(names).to_have_count(2)
    for name in names.all():
        assert name.evaluate("(link) => link.scrollWidth - link.clientWidth") <= 0, "a name is cut"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
