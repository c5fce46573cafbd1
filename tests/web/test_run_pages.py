"""The pages of a run beside overview and schedule, and what the reader may arrange, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.factories import metric
from tests.server.live_server import LiveServer
from tests.web.browser import severe_findings
from tests.web.recorded_run import record, recorded_step, tell

pytestmark = pytest.mark.stack


def test_a_spec_is_laid_beside_that_of_another_run(server: LiveServer, page: Page) -> None:
    first = server.submit(name="first")
    second = server.submit(name="second", optimizer={"lr": 5e-4})
    page.goto(f"{server.url}/runs/{second}/config")
    optimizer = page.get_by_role("region", name="optimizer")
    expect(optimizer.get_by_role("row", name=re.compile("^lr 0.0005"))).to_be_visible()
    page.get_by_role("combobox", name="Compare with").select_option(first)
    expect(page).to_have_url(re.compile("against="))
    expect(page.get_by_role("status").filter(has_text="2 fields differ")).to_be_visible()
    page.get_by_role("button", name="Differences only").click()
    expect(optimizer.get_by_role("row", name=re.compile("^lr 0.0005 0.001"))).to_be_visible()
    expect(page.get_by_role("region", name="model")).to_have_count(0)
    assert severe_findings(page) == []
    page.get_by_role("textbox", name="Find a field").fill("nothing like it")
    expect(page.get_by_role("heading", name="No field matches")).to_be_visible()


def test_events_tell_what_happened_and_are_text(server: LiveServer, page: Page) -> None:
    run = server.launch(name="fails")
    record(server, run, [0])
    tell(server, run, "state", outcome="failed", reason="<img src=x onerror=alert(1)> is NaN")
    page.goto(f"{server.url}/runs/{run.id}")
    expect(page.get_by_role("heading", name="fails", level=1)).to_be_visible()
    for tab in ("schedule", "timeline", "rollouts", "logs", "config", "checkpoints", "events"):
        page.keyboard.press("]")
        expect(page).to_have_url(re.compile(f"/{tab}"))
    events = page.get_by_role("region", name="Events")
    expect(events.get_by_role("row")).to_have_count(5)
    expect(events.get_by_role("row").nth(1)).to_contain_text("<img src=x onerror=alert(1)> is NaN")
    page.keyboard.press("f")
    page.keyboard.type("running")
    expect(events.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile("q=running"))
    assert page.locator("main img").count() == 0
    assert severe_findings(page) == []


def test_a_metric_is_pinned_moved_and_unpinned(server: LiveServer, page: Page) -> None:
    run = server.launch(name="pinned")
    record(server, run, range(3))
    page.goto(f"{server.url}/runs/{run.id}")
    pinned = page.get_by_role("region", name=re.compile("^Pinned"))
    names = pinned.get_by_role("heading", level=3)
    expect(names.first).to_have_text("reward/mean")
    page.get_by_role("region", name="train/entropy").hover()
    page.get_by_role("button", name="Pin train/entropy", exact=True).click()
    expect(names.last).to_have_text("train/entropy")
    page.get_by_role("region", name="reward/mean").hover()
    page.get_by_role("button", name="Move reward/mean back").click()
    expect(names.nth(1)).to_have_text("reward/mean")
    page.reload()
    expect(names.nth(1)).to_have_text("reward/mean")
    page.get_by_role("region", name="train/entropy").hover()
    page.get_by_role("button", name="Unpin train/entropy").click()
    expect(pinned.get_by_role("region", name="train/entropy")).to_have_count(0)


def test_the_noise_scale_stands_over_the_batch_size_where_it_is_measured(server: LiveServer, page: Page) -> None:
    run = server.launch(name="adaptive")
    step = recorded_step(0)
    noisy = step.model_copy(update={"metrics": {**step.metrics, "noise/scale": metric(42.0)}})
    assert server.record(run, noisy).status_code == 200
    page.goto(f"{server.url}/runs/{run.id}")
    chart = page.get_by_role("region", name="Noise scale and batch size")
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_contain_text("42")
    assert severe_findings(page) == []


def test_a_run_that_ended_is_archived_and_comes_back(server: LiveServer, page: Page) -> None:
    run = server.launch(name="over")
    tell(server, run, "state", outcome="failed", reason="loss is NaN")
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("button", name="Archive run").click()
    expect(page.get_by_role("button", name="Take back from archive")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="The one run is archived")).to_be_visible()
    page.get_by_role("link", name="Show archived").click()
    page.get_by_role("link", name="over").click()
    page.get_by_role("button", name="Take back from archive").click()
    expect(page.get_by_role("button", name="Archive run")).to_be_visible()
    page.goto(server.url)
    expect(page.get_by_role("link", name="over")).to_be_visible()


def test_a_run_that_failed_is_tried_again(server: LiveServer, page: Page) -> None:
    run = server.launch(name="again")
    tell(server, run, "state", outcome="failed", reason="loss is NaN")
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("button", name="Retry run").click()
    expect(page.get_by_role("dialog")).to_contain_text("Attempt 2 begins at step 0")
    page.get_by_role("button", name="Retry from 0").click()
    expect(page.get_by_role("region", name="Run", exact=True)).to_contain_text("Queued")
    expect(page.get_by_role("main")).to_contain_text("Attempt 2 is queued")
