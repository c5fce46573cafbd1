"""The list of runs where nothing is to show, in a real browser: why, and what to do about it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import severe_findings
from tests.web.conftest import see_runs
from tests.web.recorded_run import record, tell
from tests.web.test_dashboard import row

pytestmark = pytest.mark.stack


def test_when_nothing_runs_the_last_run_is_named(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="was first")
    record(server, run, [0])
    page.get_by_role("button", name="Running 1").click()
    expect(row(page, "was first")).to_be_visible()
    tell(server, run, "state", outcome="succeeded")
    empty = page.get_by_role("region", name="Runs")
    expect(empty.get_by_role("heading", name="Nothing is running")).to_be_visible()
    expect(empty).to_contain_text(re.compile(r"The last run, was first, ended on .+ at \d\d:\d\d\."))
    expect(empty.get_by_role("link", name="New run")).to_be_visible()
    assert severe_findings(page) == []
    empty.get_by_role("button", name="Show all runs").click()
    expect(row(page, "was first")).to_contain_text("Succeeded")


def test_a_tag_that_no_run_has_is_told_and_can_be_cleared(server: LiveServer, page: Page) -> None:
    server.submit(name="spells", tags={"task": "spelling"})
    page.goto(f'{server.url}/?tags=["task=math"]')
    empty = page.get_by_role("region", name="Runs")
    expect(empty.get_by_role("heading", name="No run matches")).to_be_visible()
    expect(empty).to_contain_text("The tag is task=math. This filter hides 1 run.")
    empty.get_by_role("button", name="Clear filter").click()
    expect(row(page, "spells")).to_be_visible()
    expect(page.get_by_role("button", name="task=math")).to_have_count(0)


def test_when_all_runs_are_archived_they_can_be_shown(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="put away")
    tell(server, run, "state", outcome="succeeded")
    expect(row(page, "put away")).to_contain_text("Finished")
    row(page, "put away").get_by_role("button", name="Actions for put away").click()
    page.get_by_role("menuitem", name="Archive run").click()
    expect(page.get_by_role("heading", name="The one run is archived")).to_be_visible()
    page.get_by_role("region", name="Runs").get_by_role("link", name="Show archived").click()
    expect(row(page, "put away")).to_be_visible()


def test_a_filter_is_no_longer_than_a_name_can_be(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    server.submit(name="short")
    field = page.get_by_role("textbox", name="Filter runs")
    field.fill("x" * 500)
    expect(page.get_by_role("heading", name="No run matches")).to_be_visible()
    page.goto(f"{server.url}/?q={'🐌' * 500}")
    expect(page.get_by_role("heading", name="No run matches")).to_be_visible()
    assert len(field.input_value()) == 200
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Run or step").fill("y" * 500)
    expect(page.get_by_text("No run matches.")).to_be_visible()
