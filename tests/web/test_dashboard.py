"""The dashboard in a real browser, against a real server that is fed through the ingest API."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import Watched, severe_findings, watched_context
from tests.web.conftest import login_url, see_runs
from tests.web.recorded_run import beat, record, step_lengths, tell

pytestmark = pytest.mark.stack

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has_text=name)


def test_the_login_link_signs_in_once(server: LiveServer, watched: Watched) -> None:
    link = login_url(server)
    page = watched.open()
    page.goto(link)
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    assert "code=" not in page.url


def test_a_browser_that_is_not_signed_in_is_told_what_to_do(server: LiveServer, browser: Browser) -> None:
    with watched_context(browser) as stranger:
        page = stranger.open()
        page.goto(server.url)
        expect(page.get_by_role("heading", name="This browser is not signed in")).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text(
            "Open the login link that swell up prints on the server’s machine. It works once."
        )
        expect(page.get_by_role("navigation")).to_have_count(0)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            assert severe_findings(page) == [], theme
        assert all("401" in error for error in stranger.errors), stranger.errors


def test_without_runs_the_list_says_how_to_begin(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    page.get_by_role("region", name="Runs").get_by_role("link", name="Start the demo").click()
    expect(page.get_by_role("textbox")).to_contain_text("name: demo")
    page.get_by_role("button", name="Launch run").click()
    expect(page.get_by_role("heading", name="demo", level=1)).to_be_visible()


def test_the_list_changes_in_place_while_it_is_looked_at(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="grows", tags={"task": "spelling"})
    expect(row(page, "grows")).to_contain_text("Starting")
    page.evaluate("window.isSamePage = true")
    for step in range(3):
        record(server, run, [step])
        beat(server, run, step + 1)
        expect(row(page, "grows")).to_contain_text(f"{step + 1} / 120")
        expect(row(page, "grows").get_by_role("cell").nth(5)).to_have_text(str(len(step_lengths(step))))
    expect(row(page, "grows")).to_contain_text("Running")
    expect(row(page, "grows")).to_contain_text("task: spelling")
    tell(server, run, "state", outcome="failed", reason="loss is NaN on rank 1\n\nTraceback")
    expect(row(page, "grows")).to_contain_text("Failed")
    expect(row(page, "grows")).to_contain_text("Loss is NaN on rank 1")
    expect(page.get_by_role("button", name="Failed 1")).to_be_visible()
    assert page.evaluate("window.isSamePage")


def test_what_is_no_number_says_so(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="breaks")
    record(server, run, [0], loss="NaN")
    expect(row(page, "breaks")).to_contain_text("NaN")


def test_names_from_outside_are_text(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    name = "<img src=x onerror=alert(1)>\u202eevil"
    run = server.launch(name=name, tags={"<b>key</b>": "<script>alert(2)</script>"})
    record(server, run, [0])
    tell(server, run, "state", outcome="failed", reason="<img src=x onerror=alert(3)>\n\n" + "x" * 9_000)
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("alert")).to_contain_text("<img src=x onerror=alert(3)>")
    assert page.locator("main img, section img, main script").count() == 0


def test_the_filter_is_in_the_address_and_says_what_it_hides(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    server.submit(name="first")
    server.submit(name="second")
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("f")
    page.keyboard.type("sd")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("econ")
    expect(page.get_by_role("textbox", name="Filter runs")).to_have_value("second")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Waiting 1").click()
    expect(page).to_have_url(re.compile(r"q=second.*state=waiting"))
    page.reload()
    page.get_by_role("textbox", name="Filter runs").fill("gcd")
    empty = page.get_by_role("region", name="Runs")
    expect(empty).to_contain_text("State is waiting and the name contains “gcd”. This filter hides 2 runs.")
    empty.get_by_role("button", name="Clear filter").click()
    expect(page.get_by_role("row")).to_have_count(3)


def test_the_keyboard_alone_opens_a_run_and_comes_back(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    for name in ("first", "second"):
        record(server, server.launch(name=name), [0])
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="first", level=1)).to_be_visible()
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("/schedule"))
    page.keyboard.press("/")
    page.keyboard.type("sec")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="second", level=1)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("option")).to_have_count(2)
    # Faster than the answer.
    page.keyboard.type("fir")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="first", level=1)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("option")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    server.launch(name="third")
    expect(page.get_by_role("option")).to_have_count(3)
    expect(page.get_by_role("option", selected=True)).to_contain_text("first")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_a_run_is_stopped_only_after_a_question(server: LiveServer, page: Page) -> None:
    run = server.launch(name="long")
    record(server, run, range(4))
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("button", name="Stop").click()
    question = page.get_by_role("dialog", name="Stop long?")
    expect(question).to_contain_text("Step 4 is finished")
    expect(question.get_by_role("button", name="Keep running")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    assert server.get(f"/runs/{run.id}")["state"] == "running"
    page.get_by_role("button", name="Stop").click()
    question.get_by_role("button", name="Stop after this step").click()
    expect(page.get_by_role("region", name="Run", exact=True)).to_contain_text("Stopping")
    assert server.get(f"/runs/{run.id}")["state"] == "stopping"


def test_the_numbers_of_a_run_move_with_its_steps(server: LiveServer, page: Page) -> None:
    run = server.launch(name="moves")
    record(server, run, range(5))
    page.goto(f"{server.url}/runs/{run.id}")
    head = page.get_by_role("region", name="Run", exact=True)
    expect(head).to_contain_text(f"Batch size{len(step_lengths(4))}samples")
    record(server, run, [5])
    expect(head).to_contain_text(f"Batch size{len(step_lengths(5))}samples")


def test_the_theme_is_kept(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    page.get_by_role("button", name="Switch to the dark theme").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") is None
