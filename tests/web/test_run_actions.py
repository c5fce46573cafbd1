"""What a reader asks of runs, in a real browser: to wait and go on, to be deleted and restored, to be sorted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.server.record_factories import checkpoint_message, log_line, post
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


def test_a_deleted_run_comes_back_within_eight_seconds(server: LiveServer, page: Page) -> None:
    for name in ("first", "second"):
        run = server.launch(name=name)
        tell(server, run, "state", outcome="failed", reason="loss is NaN")
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("button", name="Actions for second").click()
    page.get_by_role("menuitem", name="Delete run").click()
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    rows = page.get_by_role("row").filter(has_text="loss is NaN")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Run restored")).to_be_visible()
    expect(rows).to_have_count(2)
    for name in ("first", "second"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    bar = page.get_by_role("region", name="Selected runs")
    bar.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    page.keyboard.press("u")
    expect(rows).to_have_count(2)


def test_a_failed_run_goes_on_from_a_checkpoint_of_its_own(server: LiveServer, page: Page) -> None:
    run = server.launch(name="breaks")
    record(server, run, range(3))
    assert post(server, run, "checkpoints", checkpoint_message(1), checkpoint_message(2)).status_code == 200
    tell(server, run, "state", outcome="failed", reason="loss is NaN on rank 1\n\nTraceback of it")
    page.goto(f"{server.url}/runs/{run.id}/checkpoints")
    failed = page.get_by_role("alert")
    expect(failed).to_contain_text("Run failed after step 2: loss is NaN on rank 1")
    expect(failed.get_by_role("button", name="Retry from 2")).to_be_visible()
    page.get_by_role("region", name="Checkpoints", exact=True).get_by_role("button", name="Retry from 1").click()
    expect(page.get_by_role("region", name="Run", exact=True)).to_contain_text("Queued")
    assert "step 1" in str(server.get(f"/runs/{run.id}/events")["items"][-1])


def test_the_log_of_a_failure_opens_at_its_first_error(server: LiveServer, page: Page) -> None:
    run = server.launch(name="errs")
    lines = [log_line(k, f"line {k}", level="error" if k in (2, 4) else "info") for k in range(6)]
    assert post(server, run, "logs", *lines).status_code == 200
    tell(server, run, "state", outcome="failed", reason="broken\n\nTraceback (most recent call last):\nbroken")
    page.goto(f"{server.url}/runs/{run.id}")
    failed = page.get_by_role("alert")
    expect(failed.get_by_text("Traceback", exact=True)).to_be_visible()
    expect(failed.get_by_role("link", name="Open log")).to_have_attribute("href", re.compile(r"logs\?line=\d+$"))
    failed.get_by_role("link", name="Open log").click()
    expect(page.locator("[data-pointed]")).to_contain_text("line 2")
    expect(page.get_by_role("region", name="Lines")).to_contain_text("line 5")


def test_the_log_of_a_driver_that_was_killed_opens_at_its_end(server: LiveServer, page: Page) -> None:
    run = server.launch(name="killed")
    assert post(server, run, "logs", *(log_line(k, f"line {k}") for k in range(300))).status_code == 200
    printed = "\n".join(f"line {k}" for k in range(260, 300))
    reason = f"The driver was killed by signal 9 (SIGKILL) and made no last report.\n\n{printed}"
    tell(server, run, "state", outcome="failed", reason=reason)
    page.goto(f"{server.url}/runs/{run.id}")
    failed = page.get_by_role("alert")
    failed.get_by_text("Last lines of the driver’s output").click()
    output, banner = failed.locator("pre").bounding_box(), failed.bounding_box()
    assert output is not None
    assert banner is not None
    assert output["width"] > banner["width"] - 40
    failed.get_by_role("link", name="Open log").click()
    expect(page).to_have_url(re.compile(r"/logs$"))
    expect(page.get_by_role("region", name="Lines")).to_contain_text("line 299")
    page.get_by_role("button", name="Errors").click()
    page.get_by_role("button", name="Show all lines").click()
    expect(page.get_by_role("region", name="Lines")).to_contain_text("line 299")


def test_why_a_run_stands_takes_two_lines_of_its_row(server: LiveServer, page: Page) -> None:
    run = server.launch(name="long")
    record(server, run, range(3))
    reason = "The driver was killed by signal 9 (SIGKILL), as the system does when memory runs out."
    tell(server, run, "state", outcome="failed", reason=reason)
    server.submit(name="waits")
    page.goto(server.url)
    heights = []
    for name in ("long", "waits"):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
        heights.append(row.evaluate("row => row.getBoundingClientRect().height"))
    assert heights[0] == heights[1]
    told = page.get_by_text(reason)
    assert told.evaluate("text => text.closest('span').getBoundingClientRect().height") == 30


def test_the_command_that_exports_a_checkpoint_is_copied(server: LiveServer, page: Page) -> None:
    run = server.launch(name="saves")
    record(server, run, range(3))
    assert post(server, run, "checkpoints", checkpoint_message(60)).status_code == 200
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{server.url}/runs/{run.id}/checkpoints")
    page.get_by_role("button", name="Copy export command").click()
    expect(page.get_by_text("Command copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"swell export-model {run.id} {run.id}-step-60 --step 60"


def test_the_server_sorts_the_list(server: LiveServer, page: Page) -> None:
    for number, name in enumerate(("b", "a", "c")):
        record(server, server.launch(name=f"run {name}"), range(number + 1))
    page.goto(server.url)
    names = page.get_by_role("row").get_by_role("link")
    expect(names).to_have_text(["run c", "run a", "run b"])
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    expect(names).to_have_text(["run a", "run b", "run c"])
    page.get_by_role("columnheader", name="Progress").get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=-steps"))
    expect(names).to_have_text(["run c", "run a", "run b"])


def test_no_row_moves_under_the_hand_and_what_it_opened_stays(server: LiveServer, page: Page) -> None:
    runs = {name: server.launch(name=name) for name in ("low", "mid", "high")}
    for number, run in enumerate(runs.values()):
        record(server, run, range(number + 1))
    page.goto(f"{server.url}/?sort=-steps")
    names = page.get_by_role("row").get_by_role("link")
    expect(names).to_have_text(["high", "mid", "low"])
    page.get_by_role("button", name="Actions for mid").click()
    menu = page.get_by_role("menu", name="Actions for mid")
    record(server, runs["low"], range(1, 9))
    tell(server, runs["mid"], "state", outcome="failed", reason="loss is NaN")
    expect(page.get_by_role("row").filter(has_text="loss is NaN")).to_be_visible()
    # What was aimed at is still there, although the run has ended.
    expect(menu.get_by_role("menuitem")).to_have_text(["Pause run", "Stop run", "Clone run"])
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    expect(names).to_have_text(["high", "mid", "low"])
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Runs", level=1).click()
    expect(names).to_have_text(["low", "high", "mid"])
    page.goto(server.url)
    page.get_by_role("checkbox", name="Select mid").hover()
    server.launch(name="new")
    page.get_by_role("button", name="1 new run").click()
    expect(names).to_have_text(["new", "high", "mid", "low"])


def test_who_is_asked_whether_to_stop_a_run_never_kills_it(server: LiveServer, page: Page) -> None:
    run = server.launch(name="goes on")
    record(server, run, range(3))
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("button", name="Stop run").click()
    expect(page.get_by_role("dialog", name="Stop goes on?")).to_be_visible()
    # Somebody else was faster.
    assert server.http.post(f"/api/v1/runs/{run.id}/cancel", json={"mode": "graceful"}).status_code == 200
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Kill run").click()
    expect(page.get_by_role("dialog", name="Kill goes on?")).to_be_visible()
