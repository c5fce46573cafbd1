"""Texts from outside that would like to be more than text, in every field that a page shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.web.pictures import TABS
from tests.web.whole_run import record_whole_run

pytestmark = pytest.mark.stack

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>javascript:alert(3)\u202eevil " + "x" * 9_800
"""The cases of `xss-matrix`, one after the other, as long as a text may be."""
_INJECTED = "main img, main script, section img, section script, [onerror], a[href^='javascript']"


def test_texts_from_outside_stay_text_on_every_page(server: LiveServer, page: Page) -> None:
    run = record_whole_run(server, text=HOSTILE, name=HOSTILE[:190])
    addresses = [f"/runs/{run.id}/{tab}" for tab in TABS]
    for address in ("/", f'/compare?runs=["{run.id}"]', f"/new?from={run.id}", *addresses):
        page.goto(server.url + address)
        expect(page.get_by_text("<img src=x").first).to_be_attached()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.locator(_INJECTED).count() == 0, address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} scrolls sideways"
    tell_why = {"outcome": "failed", "reason": HOSTILE, "attempt": run.attempt, "at": "2030-01-01T00:00:00Z"}
    assert server.http.post(f"/api/v1/runs/{run.id}/state", json=tell_why, headers=run.headers).status_code == 200
    expect(page.get_by_role("alert")).to_contain_text("<img src=x")
    assert page.locator(_INJECTED).count() == 0
