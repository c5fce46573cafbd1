"""The schedule of a run in a real browser: the odd step found, its grid read, its proof and its idle time told."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.live_server import LiveServer
from tests.web.browser import severe_findings
from tests.web.recorded_run import recorded_step

pytestmark = pytest.mark.stack

NUM_STEPS, IDLE_STEP, DROPPING_STEP = 12, 5, 8


@pytest.fixture
def schedule(server: LiveServer, page: Page) -> Page:
    """The page of a run with a step that waits and one that drops."""
    run = server.launch(name="uneven")
    odd = {IDLE_STEP: {"measured_idle_frac": 0.6}, DROPPING_STEP: {"num_dropped": 7, "num_generated": 200}}
    steps = [recorded_step(step).model_copy(update=odd.get(step, {})) for step in range(NUM_STEPS)]
    for step in steps:
        assert server.record(run, step).status_code == 200
    page.goto(f"{server.url}/runs/{run.id}/schedule")
    expect(page.get_by_role("heading", name=f"Step {NUM_STEPS - 1}", exact=True)).to_be_visible()
    return page


def test_the_odd_step_is_found_and_told(schedule: Page) -> None:
    page = schedule
    page.get_by_role("button", name="Most idle").click()
    expect(page).to_have_url(re.compile(rf"step={IDLE_STEP}\b"))
    expect(page.get_by_role("heading", name=f"Step {IDLE_STEP}", exact=True)).to_be_visible()
    idle = page.get_by_role("region", name="Idle", exact=True)
    expect(idle).to_contain_text("60.0%")
    expect(idle).to_contain_text("Lower bound for dp 2")
    page.get_by_role("button", name="Most dropped").click()
    expect(page.get_by_role("heading", name=f"Step {DROPPING_STEP}", exact=True)).to_be_visible()
    proof = page.get_by_role("region", name=re.compile("^Weights sum to exactly 1"))
    proof.get_by_text("How this is proved").click()
    expect(proof).to_contain_text("kept as an exact fraction")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", name=f"Step {DROPPING_STEP - 1}", exact=True)).to_be_visible()
    page.get_by_role("button", name="Follow the newest").click()
    expect(page.get_by_text("newest step", exact=True)).to_be_visible()


def test_the_grid_is_coloured_scaled_and_read(schedule: Page) -> None:
    page = schedule
    colours = page.get_by_role("group", name="Colour").get_by_role("button")
    expect(colours.first).to_be_visible()
    for i in range(1, colours.count()):
        colours.nth(i).click()
        expect(page).to_have_url(re.compile(rf"colour={colours.nth(i).inner_text().lower()}"))
    page.get_by_role("group", name="Width").get_by_role("button", name="Predicted").click()
    expect(page).to_have_url(re.compile("width=predicted"))
    page.reload()
    expect(colours.last).to_have_attribute("aria-pressed", "true")
    grid = page.get_by_role("grid", name=re.compile("^Schedule of step"))
    rows = grid.get_by_role("row")
    expect(rows).to_have_count(3)
    card = page.locator("[aria-hidden=true]").filter(has_text="opens its rollout")
    grid.locator("[data-cell='0-0']").hover()
    expect(card).to_contain_text(re.compile("tokens", re.IGNORECASE))
    grid.locator("[data-cell='0-0']").focus()
    page.keyboard.press("ArrowDown")
    expect(grid.locator("[data-cell^='1-']:focus")).to_have_count(1)
    assert severe_findings(page) == []


def test_single_letter_keys_can_be_switched_off(schedule: Page) -> None:
    page = schedule
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Single-letter keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    page.reload()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("checkbox", name="Single-letter keys")).not_to_be_checked()
