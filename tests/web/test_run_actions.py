"""What a reader asks of a run, in a real browser: to wait and go on, from its page and from its row."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import severe_findings
from tests.web.recorded_run import record, tell

pytestmark = pytest.mark.stack


def test_a_run_waits_and_goes_on_when_asked(server: LiveServer, page: Page) -> None:
    run = server.launch(name="waits")
    record(server, run, range(4))
    page.goto(f"{server.url}/runs/{run.id}")
    head = page.get_by_role("region", name="Run", exact=True)
    head.get_by_role("button", name="Pause run").click()
    expect(head).to_contain_text("Pausing")
    tell(server, run, "heartbeat", activity="waits", num_steps=4, total_steps=120, is_paused=True)
    expect(head).to_contain_text("Paused")
    page.goto(server.url)
    row = page.get_by_role("row").filter(has_text="waits")
    expect(row).to_contain_text("Paused after step 3")
    row.get_by_role("button", name="Actions for waits").click()
    menu = page.get_by_role("menu", name="Actions for waits")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    assert severe_findings(page) == []
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Stop run")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    row.get_by_role("button", name="Actions for waits").click()
    menu.get_by_role("menuitem", name="Resume run").click()
    expect(row).to_contain_text("Running")
