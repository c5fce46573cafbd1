"""The overview of a run in a real browser: what no line can show, every x axis, cursor, zoom, tables, the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.factories import metric
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched, severe_findings
from tests.web.conftest import see_runs, signed_in
from tests.web.recorded_run import record, recorded_step

pytestmark = pytest.mark.stack

NUM_STEPS = 60
SUPERSEDED_FROM = 40
ODD = {"train/signed": lambda step: float(step % 3 - 1), "train/broken": lambda step: _NO_NUMBERS.get(step, 1.0)}
_NO_NUMBERS = {3: "NaN", 4: "NaN", 5: "Infinity", 6: "-Infinity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    server: LiveServer
    run: LaunchedRun

    @property
    def address(self) -> str:
        return f"{self.server.url}/runs/{self.run.id}"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A run that was tried twice, with values that no line can show."""
    with running_server(tmp_path_factory.mktemp("overview") / "home") as server:
        first = server.launch(name="tried twice")
        record(server, first, range(SUPERSEDED_FROM + 10))
        run = server.next_attempt(first)
        for begin in range(SUPERSEDED_FROM, NUM_STEPS, 10):
            record(server, run, range(begin, begin + 10))
        _record_oddities(server, server.launch(name="odd"))
        yield Shown(server=server, run=run)


def _record_oddities(server: LiveServer, run: LaunchedRun) -> None:
    for step in range(12):
        told = recorded_step(step)
        odd = {name: metric(value(step)) for name, value in ODD.items()}
        assert server.record(run, told.model_copy(update={"metrics": {**told.metrics, **odd}})).status_code == 200


@pytest.fixture
def page(watched: Watched, shown: Shown) -> Page:
    return signed_in(watched, shown.server)


def hero(page: Page) -> Locator:
    return page.get_by_role("region", name="Batch size and loss", exact=True)


def plot(page: Page) -> Locator:
    return hero(page).get_by_role("img", name=re.compile("^Batch size and loss"))


def test_what_no_line_can_show_is_told(shown: Shown, page: Page) -> None:
    see_runs(page, shown.server)
    page.get_by_role("link", name="odd").click()
    broken = page.get_by_role("region", name="train/broken")
    for text in ("2 NaN", "1 Infinity", "1 −Infinity"):
        expect(broken.get_by_text(text, exact=True)).to_be_visible()
    signed = page.get_by_role("region", name="train/signed")
    page.get_by_role("button", name="Log y").click()
    expect(signed.get_by_text("log: 8 points ≤ 0 hidden")).to_be_visible()
    expect(page).to_have_url(re.compile("log=true"))
    page.reload()
    expect(signed.get_by_text("log: 8 points ≤ 0 hidden")).to_be_visible()
    page.keyboard.press("y")
    expect(signed.get_by_text(re.compile("hidden$"))).to_have_count(0)
    broken.get_by_role("img").press("t")
    table = broken.get_by_role("region", name="train/broken, table")
    expect(table.get_by_role("row").nth(4)).to_contain_text("NaN")
    assert severe_findings(page) == []


def test_steps_that_were_trained_again_are_told_and_can_be_left_out(shown: Shown, page: Page) -> None:
    page.goto(shown.address)
    expect(plot(page)).to_be_visible()
    plot(page).focus()
    expect(plot(page)).to_have_accessible_name(re.compile("attempt 1 superseded from step 40"))
    page.get_by_role("button", name="Old attempts").click()
    expect(page).to_have_url(re.compile("old=false"))
    page.get_by_role("slider", name="Smoothing").press("ArrowRight")
    expect(hero(page).get_by_text("EMA 0.01")).to_be_visible()
    page.get_by_role("button", name="Bands").click()
    page.reload()
    expect(hero(page).get_by_text("EMA 0.01")).to_be_visible()
    for name in ("Old attempts", "Bands"):
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "false")
    page.set_viewport_size({"width": 420, "height": 900})
    page.get_by_role("button", name="Old attempts").click()
    expect(hero(page).get_by_text("attempt 1, superseded from 40")).to_be_visible()


def test_one_cursor_reads_all_charts_and_opens_the_step(shown: Shown, page: Page) -> None:
    page.goto(shown.address)
    box = plot(page).bounding_box()
    assert box is not None
    expect(page.get_by_text("newest values")).to_be_visible()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    values = page.get_by_text(re.compile(r"^values at step \d+$"))
    expect(values).to_be_visible()
    step = values.inner_text().removeprefix("values at step ")
    tooltip = hero(page).locator("[aria-hidden=true]").filter(has_text="Enter opens the step")
    expect(tooltip).to_contain_text(f"Step {step}")
    for name in ("Loss", "Batch size", "Micro-batches", "Idle", "LR"):
        expect(tooltip.locator("dt").filter(has_text=name)).to_be_visible()
    expect(tooltip).to_contain_text("per rank")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"/schedule\?step={step}$"))
    expect(page.get_by_role("heading", name=f"Step {step}", exact=True)).to_be_visible()


def test_a_range_is_dragged_and_all_charts_follow_on_every_axis(shown: Shown, page: Page) -> None:
    page.goto(shown.address)
    everything = page.get_by_role("button", name="Show all")
    axes = page.get_by_role("group", name="x axis")
    for x in ("Step", "Samples", "Tokens", "Time", "Relative"):
        axes.get_by_role("button", name=x).click()
        expect(everything).to_have_count(0)
        expect(axes.get_by_role("button", name=x)).to_have_attribute("aria-pressed", "true")
        # Until its points are there the chart is drawn on the axis before.
        expect(axes).not_to_have_attribute("aria-busy", "true")
        box = plot(page).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
        page.mouse.up()
        expect(page).to_have_url(re.compile(r"from=.*&to="))
        expect(everything).to_be_visible()
        hero(page).get_by_role("button", name="Show the table").click()
        rows = hero(page).get_by_role("region", name="Batch size and loss, table").get_by_role("row")
        expect(rows.first).to_be_visible()
        assert 2 < rows.count() < NUM_STEPS, x
        hero(page).get_by_role("button", name="Back to the chart").click()
    page.reload()
    expect(everything).to_be_visible()
    expect(page.get_by_role("button", name="Relative")).to_have_attribute("aria-pressed", "true")
    shared = page.url
    page.keyboard.press("+")
    expect(page).not_to_have_url(shared)
    page.keyboard.press("0")
    expect(everything).to_have_count(0)
    page.goto(shared)
    expect(everything).to_be_visible()
    # Only a part of the run is known: further out is all of it.
    page.keyboard.press("-")
    expect(everything).to_have_count(0)


def test_metrics_are_found_and_groups_closed_in_the_address(shown: Shown, page: Page) -> None:
    page.goto(shown.address)
    entropy = page.get_by_role("region", name="train/entropy")
    expect(entropy.locator("canvas")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"^train \d")).click()
    expect(entropy).to_have_count(0)
    expect(page).to_have_url(re.compile("toggled="))
    page.get_by_role("button", name=re.compile(r"^step \d")).click()
    expect(page.get_by_role("region", name="num_tokens", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="num_tokens", exact=True)).to_be_visible()
    expect(entropy).to_have_count(0)
    page.keyboard.press("f")
    page.keyboard.type("entr")
    expect(entropy.locator("canvas")).to_be_visible()
    expect(page).to_have_url(re.compile("find=entr"))
    page.get_by_role("textbox", name="Find a metric").fill("nothing like it")
    expect(page.get_by_role("heading", name="No metric matches")).to_be_visible()
    page.get_by_role("button", name="Clear filter").click()
    expect(page.get_by_role("region", name="reward/mean")).to_be_visible()


def test_panels_and_groups_are_worked_by_keyboard(shown: Shown, page: Page) -> None:
    page.goto(shown.address)
    expect(page.get_by_text(re.compile("^Steps 0 to"))).to_be_visible()
    panel = page.get_by_role("region", name="reward/mean")
    expect(panel.get_by_role("img")).to_be_visible()
    panel.get_by_role("img").focus()
    page.keyboard.press("Shift+Tab")
    expect(panel.get_by_role("button", name="Unpin reward/mean")).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel.get_by_role("img")).to_be_focused()
    page.get_by_role("button", name=re.compile("^step ")).focus()
    page.keyboard.press("Enter")
    opened = page.get_by_role("button", name=re.compile("^step "), expanded=True)
    expect(opened).to_be_focused()
    expect(page.get_by_role("region", name=re.compile("^step")).get_by_role("img").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^Pin "))
    opened.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^step "), expanded=False)).to_be_focused()


def test_what_gets_the_focus_comes_wholly_into_a_narrow_toolbar(shown: Shown, page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(shown.address)
    page.get_by_role("button", name="Log y").focus()
    for name in ("Bands", "Old attempts"):
        page.keyboard.press("Tab")
        control = page.get_by_role("button", name=name)
        expect(control).to_be_focused()
        box = control.bounding_box()
        assert box is not None
        assert (box["x"] >= 4, box["x"] + box["width"] <= 416) == (True, True)
