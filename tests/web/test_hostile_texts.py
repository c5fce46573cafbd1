"""Texts from outside that would like to be more than text, in every field that a page shows."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.server.test_external import external
from tests.web.pages import addresses
from tests.web.recorded_run import record
from tests.web.whole_run import record_whole_run

pytestmark = pytest.mark.stack

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>javascript:alert(3)\u202eevil " + "x" * 9_800
"""The cases of `xss-matrix`, one after the other, as long as a text may be."""
UNBREAKABLE = "javascript:alert(1)" + "W" * 9_800
WIDTHS = (1600, 420)
_INJECTED = "main img, main script, section img, section script, [onerror], a[href^='javascript']"


def test_texts_from_outside_stay_text_on_every_page(server: LiveServer, page: Page) -> None:
    run = record_whole_run(server, text=HOSTILE, name=HOSTILE[:190])
    other = external(
        server, name=HOSTILE[:190], config={HOSTILE[:200]: {HOSTILE: [HOSTILE]}}, tags={"a": HOSTILE[:200]}
    )
    for address in (*addresses(run.id, [other.id]), f"/runs/{other.id}", f"/runs/{other.id}/config"):
        page.goto(server.url + address)
        expect(page.get_by_text("<img src=x").first).to_be_attached()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.locator(_INJECTED).count() == 0, address
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} scrolls sideways"
    tell_why = {"outcome": "failed", "reason": HOSTILE, "attempt": run.attempt, "at": "2030-01-01T00:00:00Z"}
    assert server.http.post(f"/api/v1/runs/{run.id}/state", json=tell_why, headers=run.headers).status_code == 200
    page.goto(f"{server.url}/runs/{run.id}/timeline")
    expect(page.get_by_role("alert")).to_contain_text("<img src=x")
    expect(page.get_by_role("region", name="Advisories").get_by_role("listitem").first).to_be_visible()
    assert page.locator(_INJECTED).count() == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_a_word_without_end_leaves_every_page_its_width(server: LiveServer, page: Page, width: int) -> None:
    run = record_whole_run(server, text=UNBREAKABLE, name=UNBREAKABLE[:190])
    page.set_viewport_size({"width": width, "height": 1000})
    for address in addresses(run.id):
        page.goto(server.url + address)
        expect(page.get_by_text("javascript:alert(1)").first).to_be_attached()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} scrolls sideways"


def test_texts_of_the_address_stay_text(server: LiveServer, page: Page) -> None:
    run = server.launch(name="linked to")
    record(server, run, range(3))
    text = quote(HOSTILE[:100])
    for address in (f"/?q={text}", f"/runs/{run.id}?find={text}", f"/runs/{run.id}/config?q={text}",
                    f"/runs/{run.id}/events?q={text}", f"/runs/{run.id}/logs?only=true&q={text}"):  # fmt: skip
        page.goto(server.url + address)
        expect(page.get_by_role("heading", name=re.compile("matches|No "))).to_be_visible()
        assert page.locator(_INJECTED).count() == 0, address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} scrolls sideways"
