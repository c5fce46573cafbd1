"""Reduced motion, on every page of the router: nothing that is seen moves by itself, or for longer than a blink."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.web.conftest import see_runs
from tests.web.pages import addresses
from tests.web.whole_run import record_whole_run

pytestmark = pytest.mark.stack

BLINK_MS = 20
LONGEST_MS = """() => {
  const toMs = (one) => parseFloat(one) * (one.trim().endsWith("ms") ? 1 : 1000);
  const ms = (list) => Math.max(...list.split(",").map(toMs));
  const styles = [...document.querySelectorAll("*")].flatMap((element) =>
    [null, "::before", "::after"].map((part) => getComputedStyle(element, part)));
  const declared = styles.map((style) => Math.max(ms(style.transitionDuration), ms(style.animationDuration)));
  const running = document.getAnimations().map((one) => Number(one.effect.getComputedTiming().endTime));
  return Math.max(0, ...declared, ...running);
}"""
SMOOTH = "() => [...document.querySelectorAll('*')].some((one) => getComputedStyle(one).scrollBehavior === 'smooth')"


def test_with_reduced_motion_nothing_moves_for_longer_than_a_blink(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = record_whole_run(server)
    other = server.launch(name="beside")
    expect(page.get_by_role("row")).to_have_count(3)
    assert page.evaluate(LONGEST_MS) > BLINK_MS, "without the wish colours change little by little"
    page.emulate_media(reduced_motion="reduce")
    for address in addresses(run.id, [other.id]):
        page.goto(server.url + address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.evaluate(LONGEST_MS) <= BLINK_MS, address
        assert not page.evaluate(SMOOTH), address
