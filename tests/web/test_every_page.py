"""Every page of the router, in both themes, wide and narrow, with its dialogs: nothing that axe calls serious, nothing
that scrolls sideways, nothing on the console. And what pages say of runs that are not as usual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browser import Watched, severe_findings, watched_context
from tests.web.conftest import login_url, signed_in
from tests.web.pages import addresses, routes, tabs
from tests.web.pictured_runs import Pictured, pictured_servers

pytestmark = pytest.mark.stack

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_SETTLED = """() => Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime)).map(({ finished }) => finished))"""
"""Colours change from one theme to the other little by little; the change of an element that goes away is aborted."""
_OTHER_FIGURES = """() => [...document.querySelectorAll('body *')]
  .filter((element) => getComputedStyle(element).fontVariantNumeric !== 'tabular-nums')
  .map(({ tagName, className }) => `${tagName} ${className}`)"""
SIZES = {"wide": (1600, 1000), "narrow": (420, 900)}


@pytest.fixture(scope="module")
def shown() -> Iterator[Pictured]:
    with pictured_servers() as shown:
        yield shown


@pytest.fixture
def page(watched: Watched, shown: Pictured) -> Page:
    return signed_in(watched, shown.full)


def look(page: Page, where: str) -> None:
    """In both themes, once nothing of it is on its way."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.evaluate(_SETTLED)
        assert severe_findings(page) == [], f"{where}, {theme}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{where} scrolls sideways"
    assert page.evaluate(_OTHER_FIGURES) == [], f"{where}: figures of other widths"


@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_accessible_and_quiet(shown: Pictured, browser: Browser, size: str) -> None:
    width, height = SIZES[size]
    with watched_context(browser, viewport={"width": width, "height": height}) as watched:
        page = watched.open()
        page.goto(login_url(shown.full))
        others = [shown.runs["broken"], shown.runs["external"]]
        for address in (*addresses(shown.runs["live"], others), "/nowhere"):
            page.goto(shown.full.url + address)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            look(page, address)
        assert watched.errors == []


def test_every_dialog_is_accessible(shown: Pictured, page: Page) -> None:
    page.goto(f"{shown.full.url}/runs/{shown.runs['live']}")
    expect(page.get_by_text(re.compile("^Steps 0 to"))).to_be_visible()
    opened = page.get_by_role("dialog")
    page.keyboard.press("?")
    expect(opened).to_contain_text("Go to run or step")
    look(page, "all keys")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("spell")
    expect(page.get_by_role("option").first).to_be_visible()
    look(page, "go to")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop run").click()
    expect(opened).to_contain_text("is finished")
    look(page, "stop")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Actions for")).click()
    expect(page.get_by_role("menuitem").first).to_be_focused()
    look(page, "menu")
    page.goto(f"{shown.full.url}/runs/{shown.runs['broken']}")
    page.get_by_role("button", name="Retry run").click()
    expect(opened).to_contain_text("Attempt 2 goes on")
    look(page, "retry")


def test_the_router_has_the_pages_that_are_known(shown: Pictured) -> None:
    """A page that is added is looked at above; it also wants a test of its own, and a picture."""
    of_a_run = ["", "schedule", "timeline", "rollouts", "logs", "config", "checkpoints", "events", "ledger", "system"]
    assert sorted(tabs()) == sorted(of_a_run)
    assert sorted(set(routes()) - {f"/runs/$runId/{tab}" for tab in of_a_run}) == ["/", "/compare", "/new"]


def test_a_run_of_another_framework_shows_what_its_writer_told(shown: Pictured, page: Page) -> None:
    base = f"{shown.full.url}/runs/{shown.runs['external']}"
    page.goto(base)
    head = page.get_by_role("region", name="Run", exact=True)
    expect(head).to_contain_text("another framework")
    for name in ("Pause run", "Resume run", "Retry run", "Clone run"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    head.get_by_role("button", name=re.compile("^Actions for")).click()
    expect(page.get_by_role("menuitem")).to_have_text(["Archive run", "Delete run"])
    page.keyboard.press("Escape")
    expect(page.get_by_text("Steps 0 to 59", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Batch size and loss"))).to_be_visible()
    told = {
        "schedule": "No schedule of this step",
        "timeline": "No timeline of this step",
        "rollouts": "No rollouts were recorded",
        "logs": "No lines were recorded",
        "config": "optimizer",
        "checkpoints": "No checkpoints",
        "ledger": "No books",
        "system": "Nothing was measured",
    }
    for tab, text in told.items():
        page.goto(f"{base}/{tab}")
        expect(page.get_by_role("main")).to_contain_text(text)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_what_a_state_does_not_say_stands_over_the_pages(shown: Pictured, page: Page) -> None:
    told = {
        "stillborn": "Run failed before its first step: model.path",
        "skipped": "Finished; 6 of 30 iterations trained nothing",
        "advised": "Loss or gradient norm exploded",
        "paused": "Paused after step 47",
        "lost": "comes back if attempt 1 reports",
        "queued": "Queued: waits for spell-backward-grpo, paused-for-a-while to end",
    }
    for state, text in told.items():
        page.goto(f"{shown.full.url}/runs/{shown.runs[state]}")
        expect(page.get_by_text(re.compile(re.escape(text)))).to_be_visible()
        look(page, state)
    page.goto(f"{shown.full.url}/runs/{shown.runs['skipped']}")
    page.get_by_role("link", name="Open ledger").click()
    expect(page.get_by_role("heading", name="Rollouts, in and out")).to_be_visible()


def test_a_failure_is_told_with_the_end_of_its_traceback_and_without_what_only_costs_time(
    shown: Pictured, page: Page
) -> None:
    base = f"{shown.full.url}/runs/{shown.runs['broken']}"
    page.goto(f"{base}/timeline")
    expect(page.get_by_text("Ranks wait for each other")).to_be_visible()
    page.goto(base)
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("Run failed after step 81: loss is NaN on rank 1, micro-batch 4")
    failure.get_by_text("Traceback", exact=True).click()
    end = failure.locator("pre")
    expect(end).to_be_visible()
    page.wait_for_function("""() => {
      const { scrollTop, clientHeight, scrollHeight } = document.querySelector("[role=alert] pre");
      return scrollHeight > clientHeight && scrollTop + clientHeight >= scrollHeight - 1;
    }""")
    expect(failure).not_to_contain_text("Ranks wait")


def test_what_retention_took_away_is_told(shown: Pictured, page: Page) -> None:
    base = f"{shown.full.url}/runs/{shown.runs['pruned']}"
    told = {
        "schedule?step=1": "older than what is kept",
        "timeline?step=1": "not kept any more",
        "rollouts?iteration=1": "Texts of iteration 1 were not kept",
    }
    for address, text in told.items():
        page.goto(f"{base}/{address}")
        expect(page.get_by_role("main")).to_contain_text(text)
    expect(page.get_by_role("heading", name="This response is not kept")).to_be_visible()
    # Its numbers stay.
    page.goto(base)
    expect(page.get_by_text("Steps 0 to 302", exact=True)).to_be_visible()
