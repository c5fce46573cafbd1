"""Runs over one another in a real browser: selected in the list, aligned by any x, with their specs beside."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LaunchedRun, LiveServer
from tests.web.browser import severe_findings
from tests.web.conftest import see_runs
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack


@pytest.fixture
def runs(server: LiveServer) -> tuple[LaunchedRun, LaunchedRun]:
    first = server.launch(name="sums-all", tags={"task": "sums"})
    second = server.launch(name="sums-slow", tags={"task": "gcd"}, optimizer={"lr": 5e-4})
    record(server, first, range(12))
    record(server, second, range(6))
    return first, second


@pytest.mark.usefixtures("runs")
def test_runs_are_selected_by_key_and_compared(server: LiveServer, page: Page) -> None:
    page.goto(server.url)
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("checkbox", name="Select sums-all").check()
    expect(page.get_by_role("region", name="Selected runs")).to_contain_text("2 runs selected")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    for metric in ("reward/mean", "global_batch_size", "train/loss", "measured_idle_frac"):
        expect(page.get_by_role("region", name=metric).locator("canvas")).to_be_visible()
    differences = page.get_by_role("region", name="Config differences", exact=True)
    expect(differences.get_by_role("row", name=re.compile(r"optimizer\.lr"))).to_contain_text("0.0005")
    expect(differences.get_by_role("row", name=re.compile(r"^iterations"))).to_have_count(0)
    differences.get_by_role("button", name="Differences only").click()
    expect(differences.get_by_role("row", name=re.compile(r"^iterations"))).to_have_count(1)
    assert severe_findings(page) == []


def test_the_comparison_is_in_the_address_and_live(
    server: LiveServer, page: Page, runs: tuple[LaunchedRun, LaunchedRun]
) -> None:
    first, second = runs
    page.goto(f'{server.url}/compare?runs=["{first.id}","{second.id}"]')
    readout = page.get_by_role("table").filter(has_text="Newest")
    expect(readout.get_by_role("row", name=re.compile("^all 11 "))).to_be_visible()
    page.get_by_role("group", name="x axis").get_by_role("button", name="Samples").click()
    page.get_by_role("checkbox", name="Draw slow").uncheck()
    expect(page).to_have_url(re.compile(r"x=samples.*hidden="))
    _hide_and_draw_all(page)
    page.get_by_role("checkbox", name="Draw slow").uncheck()
    page.get_by_role("button", name="Remove train/loss").click()
    page.get_by_role("textbox", name="Add a metric").or_(page.get_by_role("combobox", name="Add a metric")).fill(
        "train/entropy"
    )
    expect(page.get_by_role("region", name="train/entropy")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="train/entropy").locator("canvas")).to_be_visible()
    expect(page.get_by_role("region", name="train/loss")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Draw slow")).not_to_be_checked()
    record(server, first, [12])
    expect(readout.get_by_role("row", name=re.compile("^all 12 "))).to_be_visible()


def _hide_and_draw_all(page: Page) -> None:
    """From a state in which some are drawn: the first click draws all of them."""
    every, boxes = page.get_by_role("checkbox", name="Draw all runs"), page.get_by_role("checkbox")
    expect(page.get_by_text("1 of 2 drawn")).to_be_visible()
    assert every.evaluate("box => box.indeterminate")
    every.click()
    expect(boxes.and_(page.locator(":checked"))).to_have_count(3)
    every.click()
    expect(page.get_by_text("0 of 2 drawn")).to_be_visible()
    expect(page.get_by_role("region", name="reward/mean")).to_contain_text("No run is drawn")
    every.click()
    expect(page.get_by_role("region", name="reward/mean").locator("canvas")).to_be_visible()


@pytest.mark.usefixtures("runs")
def test_a_tag_filters_the_list(server: LiveServer, page: Page) -> None:
    page.goto(server.url)
    page.get_by_role("button", name="task: gcd").click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile("tags="))
    page.get_by_role("button", name="task=gcd").click()
    expect(page.get_by_role("row")).to_have_count(3)


def test_without_runs_it_says_how_to_choose_them(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Nothing to compare")).to_be_visible()
    assert severe_findings(page) == []


@pytest.mark.usefixtures("runs")
def test_without_metrics_it_says_how_to_draw_some(server: LiveServer, page: Page) -> None:
    run = server.get("/runs")["items"][0]["id"]
    page.goto(f'{server.url}/compare?runs=["{run}"]&metrics=[]')
    expect(page.get_by_role("heading", name="No metric is drawn")).to_be_visible()
    assert severe_findings(page) == []
    page.get_by_role("button", name="Draw the usual four").click()
    expect(page.get_by_role("region", name="reward/mean").locator("canvas")).to_be_visible()


def test_a_long_list_loads_as_it_is_scrolled_and_draws_only_what_is_seen(server: LiveServer, page: Page) -> None:
    for number in range(180):
        server.submit(name=f"run-{number:03}")
    page.goto(server.url)
    expect(page.get_by_role("row").filter(has_text="run-179")).to_be_visible()
    expect(page.get_by_text("100 of 180 runs are loaded")).to_have_count(1)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.get_by_text("100 of 180 runs are loaded")).to_have_count(0)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.get_by_role("row").filter(has_text="run-000")).to_be_visible()
    assert page.get_by_role("row").count() < 90
    assert severe_findings(page) == []


def test_the_list_is_sorted_by_a_column(server: LiveServer, page: Page) -> None:
    for name, steps in (("late", 30), ("early", 1)):
        record(server, server.launch(name=name), range(steps))
    server.submit(name="waits")
    page.goto(server.url)
    names = page.get_by_role("row").get_by_role("link")
    expect(names).to_have_text(["waits", "early", "late"])
    reward = page.get_by_role("columnheader", name="Reward")
    reward.get_by_role("button").click()
    expect(names).to_have_text(["late", "early", "waits"])
    expect(reward).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile("sort=-reward"))
    reward.get_by_role("button").click()
    expect(names).to_have_text(["early", "late", "waits"])
    reward.get_by_role("button").click()
    expect(names).to_have_text(["waits", "early", "late"])
