"""Pages on records as large as Swell is made for. One server and its runs are shared: each test only looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, Route, expect

from bench.filled_tables import fill_many_runs
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched, severe_findings
from tests.web.conftest import see_runs, signed_in
from tests.web.large_runs import record_long_run
from tests.web.recorded_detail import record_lines, recorded_lines, timed_step
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack

NUM_STEPS, NUM_METRICS = 20_000, 30
NUM_RUNS, NUM_COMPARED, NUM_LINES = 5_000, 20, 100_000
NUM_RANKS, NUM_ENGINES = 479, 32
"""And the driver: 512 actors."""
MOST_ROWS = 100
"""Rows in the page, whatever the number of rows there are: as many as are seen, and some before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    server: LiveServer
    long: LaunchedRun
    wordy: LaunchedRun
    compared: tuple[LaunchedRun, ...]

    def address(self, run: LaunchedRun, page: str = "") -> str:
        return f"{self.server.url}/runs/{run.id}/{page}"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    with running_server(tmp_path_factory.mktemp("large") / "home") as server:
        fill_many_runs(server.services.database, server.submit(name="one of many"), num_runs=NUM_RUNS - 1)
        wordy = server.launch(name="wordy and wide")
        record_lines(server, wordy, recorded_lines(0, NUM_LINES))
        step = timed_step(0, num_ranks=NUM_RANKS, num_engines=NUM_ENGINES)
        assert server.record(wordy, step).status_code == 200
        compared = tuple(server.launch(name=f"compared-{k:02}") for k in range(NUM_COMPARED))
        for k, run in enumerate(compared):
            record(server, run, range(3 + k))
        long = record_long_run(server, name="long", num_steps=NUM_STEPS, num_metrics=NUM_METRICS)
        yield Large(server=server, long=long, wordy=wordy, compared=compared)


@pytest.fixture
def page(watched: Watched, large: Large) -> Page:
    return signed_in(watched, large.server)


def test_a_list_of_five_thousand_runs_has_few_rows_and_finds_each(large: Large, page: Page) -> None:
    see_runs(page, large.server)
    rows = page.get_by_role("row")
    expect(page.get_by_role("button", name=re.compile(r"^All 5,0\d\d"))).to_be_visible()
    for _ in range(3):
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(rows.filter(has_text="one of many").last).to_be_visible()
    assert rows.count() < MOST_ROWS
    page.keyboard.press("f")
    page.keyboard.type("compared-13")
    expect(rows).to_have_count(2)
    expect(page.get_by_role("link", name="compared-13")).to_be_visible()


def test_a_long_run_is_drawn_from_few_points_says_so_and_is_exact_where_it_is_zoomed(large: Large, page: Page) -> None:
    page.goto(large.address(large.long))
    hero = page.get_by_role("region", name="Batch size and loss")
    expect(hero.get_by_text(re.compile(r"^sampled: [\d,]+ of 20,000$"))).to_be_visible()
    expect(hero.get_by_text(re.compile(r"^min to max of \d+ steps$"))).to_be_visible()
    page.get_by_role("button", name="Bands").click()
    expect(hero.get_by_text(re.compile("^min to max"))).to_have_count(0)
    train = page.get_by_role("region", name=re.compile(r"^train \d+$"))
    expect(train.get_by_text(re.compile(r"^sampled: [\d,]+ of 20,000$"))).to_be_visible()
    panels = train.get_by_role("region")
    expect(panels).to_have_count(NUM_METRICS - 1)
    panels.last.scroll_into_view_if_needed()
    expect(panels.last.locator("canvas")).to_be_visible()
    page.goto(f"{large.address(large.long)}?from=9000&to=9100")
    expect(hero.get_by_role("img")).to_be_visible()
    expect(hero.get_by_text(re.compile("^sampled"))).to_have_count(0)
    hero.get_by_role("button", name="Show the table").click()
    table = hero.get_by_role("region", name="Batch size and loss, table")
    expect(table.get_by_role("row")).to_have_count(101)
    expect(table.get_by_role("row").last).to_contain_text("9,099")


def test_of_two_steps_that_are_looked_up_the_last_one_is_gone_to(large: Large, page: Page) -> None:
    page.goto(large.address(large.long, "schedule"))
    lane = page.get_by_role("region", name="All steps").locator("canvas").first
    expect(page.get_by_text(re.compile(r"^20,000 steps, \d+ per column"))).to_be_visible()
    box = lane.bounding_box()
    assert box is not None
    waiting: list[Route] = []
    page.route(re.compile("agg=none"), lambda route: waiting.append(route), times=1)
    lane.click(position={"x": 0.2 * box["width"], "y": 4})
    lane.click(position={"x": 0.8 * box["width"], "y": 4})
    expect(page).to_have_url(re.compile(r"step=1[56]\d\d\d"))
    with page.expect_response(re.compile("agg=none")) as late:
        waiting[0].continue_()
    late.value.finished()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"step=1[56]\d\d\d"))


def test_a_log_of_a_hundred_thousand_lines_is_a_short_list_that_is_read_to_both_ends(large: Large, page: Page) -> None:
    page.goto(large.address(large.wordy, "logs"))
    lines = page.get_by_role("region", name="Lines")
    rows = lines.get_by_role("listitem")
    newest = lines.get_by_text(recorded_lines(NUM_LINES - 1, 1)[0].text)
    expect(newest.last).to_be_visible()
    for _ in range(3):
        lines.evaluate("element => { element.scrollTop = 0 }")
        expect(rows.first).to_be_visible()
    assert rows.count() < 2 * MOST_ROWS
    # Its first line is far beyond what was read so far.
    page.keyboard.press("f")
    page.keyboard.type("step 0: loss 1.0000")
    hits = page.get_by_role("status").filter(has_text="hit")
    expect(hits).to_have_text("1 hit")
    page.keyboard.press("Enter")
    pointed = lines.locator("[data-pointed]")
    expect(pointed).to_be_in_viewport()
    expect(pointed).to_contain_text("step 0: loss 1.0000")
    assert rows.count() < 2 * MOST_ROWS
    lines.get_by_role("listitem").first.hover()
    page.get_by_role("button", name="Newest line").click()
    expect(newest.last).to_be_visible()
    page.get_by_role("textbox", name="Search the log").fill("NonFiniteError")
    expect(hits).to_have_text("500 hits")


def test_a_timeline_of_512_actors_is_folded_opened_and_read(large: Large, page: Page) -> None:
    page.goto(large.address(large.wordy, "timeline"))
    region = page.get_by_role("region", name="Timeline of step 0")
    ranks = region.get_by_role("button", name=f"{NUM_RANKS} ranks")
    engines = region.get_by_role("button", name=f"{NUM_ENGINES} engines")
    expect(ranks).to_have_attribute("aria-expanded", "false")
    expect(engines).to_have_attribute("aria-expanded", "false")
    assert severe_findings(page) == []
    ranks.click()
    expect(page).to_have_url(re.compile("folded="))
    expect(region.get_by_text("rank 0", exact=True)).to_be_visible()
    plot = region.get_by_role("group", name=re.compile("Arrow keys read it"))
    # As many names and one canvas as high as what is seen, not as what there is.
    assert region.locator("canvas").count() <= 2
    assert plot.evaluate("element => element.clientHeight <= innerHeight")
    assert region.get_by_text(re.compile(r"^rank \d+$")).count() < MOST_ROWS
    plot.evaluate("element => { element.parentElement.parentElement.scrollTop = 1e6 }")
    expect(region.get_by_text(f"rank {NUM_RANKS - 1}", exact=True)).to_be_visible()
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"from=.*&to="))
    page.reload()
    expect(region.get_by_role("button", name="All", exact=True)).to_be_enabled()
    page.keyboard.press("t")
    expect(region.get_by_role("row").filter(has_text="Forward-backward").first).to_be_visible()


def test_twenty_runs_are_compared_by_any_x_and_hidden_one_by_one(large: Large, page: Page) -> None:
    ids = ",".join(f'"{run.id}"' for run in large.compared)
    page.goto(f"{large.server.url}/compare?runs=[{ids}]&x=samples")
    boxes = page.get_by_role("region", name="Runs").get_by_role("listitem").get_by_role("checkbox")
    expect(boxes).to_have_count(NUM_COMPARED)
    readout = page.get_by_role("table").filter(has_text="Newest")
    expect(readout.get_by_role("row")).to_have_count(NUM_COMPARED + 1)
    for metric in ("reward/mean", "global_batch_size"):
        expect(page.get_by_role("region", name=metric).locator("canvas")).to_be_visible()
    boxes.first.uncheck()
    expect(readout.get_by_role("row")).to_have_count(NUM_COMPARED)
    for x in ("Tokens", "Time", "Relative", "Step"):
        page.get_by_role("group", name="x axis").get_by_role("button", name=x).click()
        expect(page.get_by_role("region", name="reward/mean").locator("canvas")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Leave .* out$")).first.click()
    expect(boxes).to_have_count(NUM_COMPARED - 1)
    assert severe_findings(page) == []
    page.reload()
    expect(boxes).to_have_count(NUM_COMPARED - 1)
