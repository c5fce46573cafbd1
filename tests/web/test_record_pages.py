"""Checkpoints, ledger and system of a run in a real browser, fed through the ingest API."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import (
    checkpoint_message,
    group_message,
    iteration_message,
    post,
    rollout_message,
    system_sample,
)
from tests.web.browser import severe_findings
from tests.web.recorded_run import record, tell

pytestmark = pytest.mark.stack


def tell_books(server: LiveServer, run: LaunchedRun, iterations: int) -> None:
    for number in range(iterations):
        fates = ["trained"] * 5 + ["filtered"] * 3
        rollouts = [
            rollout_message(
                f"{number}-{k}",
                fate=fate,
                reason="zero_variance" if fate == "filtered" else None,
                step=number if fate == "trained" else None,
            )
            for k, fate in enumerate(fates)
        ]
        message = iteration_message(number, [group_message(f"group {number}", rollouts)])
        assert post(server, run, "rollouts", message).status_code == 200


def test_checkpoints_tell_what_is_kept_and_what_goes_next(server: LiveServer, page: Page) -> None:
    run = server.launch(name="saves", checkpoint={"every_steps": 20, "keep_last": 2})
    record(server, run, range(3))
    page.goto(f"{server.url}/runs/{run.id}/checkpoints")
    expect(page.get_by_role("heading", name="No checkpoints yet")).to_be_visible()
    kept = [checkpoint_message(step) for step in (40, 60)]
    removed = checkpoint_message(20, removed=True)
    assert post(server, run, "checkpoints", removed, *kept).status_code == 200
    panel = page.get_by_role("region", name="Checkpoints", exact=True)
    expect(panel.get_by_role("row")).to_have_count(3)
    expect(panel).to_contain_text("2 kept, 1 removed")
    expect(panel).to_contain_text("The next checkpoint removes the one before step 40.")
    panel.get_by_role("button", name="With removed").click()
    expect(page).to_have_url(re.compile("removed=true"))
    expect(panel.get_by_role("row").last).to_contain_text("removed")
    assert severe_findings(page) == []
    page.set_viewport_size({"width": 800, "height": 900})
    for command in panel.get_by_role("button", name="Copy export command").all():
        expect(command).to_be_in_viewport(ratio=1)


def test_the_ledger_balances_and_leads_to_its_rollouts(server: LiveServer, page: Page) -> None:
    run = server.launch(name="counts")
    record(server, run, range(3))
    page.goto(f"{server.url}/runs/{run.id}/ledger")
    expect(page.get_by_role("heading", name="No books yet")).to_be_visible()
    tell_books(server, run, 3)
    flow = page.get_by_role("region", name="Rollouts, in and out")
    expect(flow.get_by_role("img")).to_have_accessible_name(
        re.compile("In: Generated 24. Out: Trained 15, Filtered: zero variance 9")
    )
    flow.get_by_role("textbox", name="Steps from").fill("1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("from=1"))
    table = page.get_by_role("region", name="By iteration, table")
    expect(table.get_by_role("row")).to_have_count(3)
    assert severe_findings(page) == []
    table.get_by_role("link", name="Filtered: zero variance: 3 rollouts").first.click()
    expect(page).to_have_url(re.compile(r"/rollouts\?.*iteration=2.*fate=filtered.*reason=zero_variance"))


def test_the_machine_is_drawn_and_zoomed(server: LiveServer, page: Page) -> None:
    run = server.launch(name="works")
    record(server, run, [0])
    page.goto(f"{server.url}/runs/{run.id}/system")
    expect(page.get_by_role("heading", name="Nothing measured yet")).to_be_visible()
    # Samples of long ago may be taken away while the test looks at them.
    started_at = datetime.now(UTC) - timedelta(minutes=1)
    for second in range(0, 60, 5):
        sample = system_sample(at=started_at + timedelta(seconds=second)).model_dump(mode="json")
        tell(server, run, "heartbeat", activity="trains", num_steps=1, total_steps=120, system=sample)
    for title in ("CPU", "Memory", "CPU by process", "Memory by process"):
        expect(page.get_by_role("region", name=title, exact=True).locator("canvas")).to_be_visible()
    expect(page.get_by_text("The server’s queue of writes: empty")).to_be_visible()
    assert severe_findings(page) == []
    page.get_by_role("region", name="CPU", exact=True).get_by_role("img").press("t")
    expect(page.get_by_role("region", name="CPU, table").get_by_role("row")).to_have_count(13)
