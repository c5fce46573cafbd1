"""A run of the real stack, looked at in a real Chromium while it trains."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.swell_stack import SwellStack
from tests.web.browser import watched_context

pytestmark = pytest.mark.stack

_PAINTED = "() => document.querySelector('section[aria-labelledby=hero-title] canvas').toDataURL()"
_GROW_TIMEOUT_MS = 60_000


def newest_step(page: Page) -> int:
    text = page.get_by_text(re.compile(r"^Steps 0 to [\d,]+$")).inner_text()
    return int(text.rsplit(" ", 1)[1].replace(",", ""))


def test_charts_grow_while_looked_at_and_a_click_opens_the_step(stack: SwellStack, browser: Browser) -> None:
    run = stack.submit(name="looked at", iterations=500)
    try:
        stack.wait_until_it_trains(run, num_steps=2)
        link = next(word for word in stack.swell("login").out.split() if word.startswith("http"))
        with watched_context(browser, viewport={"width": 1400, "height": 900}) as watched:
            page = watched.open()
            page.goto(link)
            page.get_by_role("link", name="looked at").click()
            hero = page.get_by_role("region", name="Batch size and loss")
            expect(hero.locator("canvas").first).to_be_visible()
            expect(hero).to_contain_text("global_batch_size")
            page.evaluate("window.isSamePage = true")
            seen, painted = newest_step(page), page.evaluate(_PAINTED)
            expect(page.get_by_text(f"Steps 0 to {seen}", exact=True)).to_have_count(0, timeout=_GROW_TIMEOUT_MS)
            assert newest_step(page) > seen
            # The number is a line of text, the chart is painted in the frame that follows.
            stack.wait_for(lambda: page.evaluate(_PAINTED) != painted, 10, "the hero chart is painted anew")
            assert page.evaluate("window.isSamePage"), "the page was loaded again"

            hero.locator(".u-over").click(position={"x": 300, "y": 200})
            expect(page).to_have_url(re.compile(rf"/runs/{run}/schedule\?.*step=\d+"))
            expect(page.get_by_role("grid")).to_be_visible()
            expect(page.get_by_text("Weights sum to exactly 1")).to_be_visible()
            assert watched.errors == []
    finally:
        stack.post(f"/runs/{run}/cancel", {"mode": "kill"})
