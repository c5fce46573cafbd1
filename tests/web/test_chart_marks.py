"""What charts draw and say beside their lines, read from pixels and words and held against the API, in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from orchestrator.contracts.messages import StepMessage
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched, watched_context
from tests.web.conftest import login_url, signed_in
from tests.web.recorded_run import record, recorded_step, step_lengths

pytestmark = pytest.mark.stack

NUM_STEPS = 60
SUPERSEDED_FROM, SUPERSEDED_TO = 40, 50
LONG = 620
"""More steps than a panel has points: each point stands for several."""
BROKEN, ENTROPY, RAGGED = "train/broken", "train/entropy", "train/ragged"
NUM_ODD = 12
NO_NUMBERS = {3: "NaN", 7: "Infinity", 10: "-Infinity"}
EDGE = 0.12
"""Share of a plot's height that a mark at its edge takes."""
FAINT_BAND = (15, 40)
FAINT_OLD = (30, 110)
FAINT_RAW = (70, 82)
SOLID = (200, 255)
"""Alphas, of 255, of what is drawn: a band, an old attempt, a line that was smoothed, a line."""
_PIXELS = """([plot, token, [low, high], [left, top, right, bottom]]) => {
  const [canvas, over] = [plot.querySelector("canvas"), plot.querySelector(".u-over")];
  if (!canvas || !over) return 0;
  const [at, ratio, whole] = [over.getBoundingClientRect(), devicePixelRatio, canvas.getBoundingClientRect()];
  const px = (share, size, start) => Math.round((start + share * size) * ratio);
  const [x, y] = [px(left, at.width, at.left - whole.left), px(top, at.height, at.top - whole.top)];
  const width = px(right, at.width, at.left - whole.left) - x;
  const height = px(bottom, at.height, at.top - whole.top) - y;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(x, y, width, height);
  const ink = getComputedStyle(document.documentElement).getPropertyValue(token).trim();
  const colour = [1, 3, 5].map((i) => Number.parseInt(ink.slice(i, i + 2), 16));
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const isNear = colour.every((value, k) => Math.abs(value - data[i + k]) <= 20);
    if (isNear && data[i + 3] >= low && data[i + 3] <= high) count += 1;
  }
  return count;
}"""
"""Pixels of a colour within these alphas, in a part of a plot."""
WHOLE = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """Something drawn in a chart: its colour, how opaque, and where, in shares of the plot."""

    token: str
    alphas: tuple[int, int]
    part: tuple[float, float, float, float] = WHOLE

    def count(self, chart: Locator) -> int:
        return int(chart.page.evaluate(_PIXELS, self._told(chart)))

    def wait(self, chart: Locator, condition: str) -> None:
        """Until the count of pixels meets the condition: `> 10`."""
        chart.page.wait_for_function(f"(told) => ({_PIXELS})(told) {condition}", arg=self._told(chart))

    def _told(self, chart: Locator) -> list[Any]:
        return [chart.element_handle(), self.token, list(self.alphas), list(self.part)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    server: LiveServer
    tried_twice: LaunchedRun
    other: LaunchedRun
    odd: LaunchedRun
    long: LaunchedRun

    def address(self, run: LaunchedRun) -> str:
        return f"{self.server.url}/runs/{run.id}"

    @property
    def compare(self) -> str:
        return f'{self.server.url}/compare?runs=["{self.tried_twice.id}","{self.other.id}"]&x=samples'


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with running_server(tmp_path_factory.mktemp("marks") / "home") as server:
        first, other, odd, long = (server.launch(name=name) for name in ("tried-twice", "tried-other", "odd", "long"))
        record(server, first, range(SUPERSEDED_FROM))
        superseded = range(SUPERSEDED_FROM, SUPERSEDED_TO)
        record_steps(server, first, [with_metrics(step, {ENTROPY: 0.75}) for step in superseded])
        tried_twice = server.next_attempt(first)
        record(server, tried_twice, range(SUPERSEDED_FROM, NUM_STEPS))
        others = [
            step_message(step, lengths=step_lengths(step + 37), metrics=recorded_step(step + 30).metrics)
            for step in range(NUM_STEPS)
        ]
        record_steps(server, other, others)
        record_steps(server, odd, [with_metrics(k, {BROKEN: NO_NUMBERS.get(k, 1.0 + k)}) for k in range(NUM_ODD)])
        record_steps(server, long, [with_metrics(step, {RAGGED: float(step % 5)}) for step in range(LONG)])
        yield Shown(server=server, tried_twice=tried_twice, other=other, odd=odd, long=long)


def with_metrics(step: int, values: dict[str, float | str]) -> StepMessage:
    told = recorded_step(step)
    more = {name: metric(value) for name, value in values.items()}
    return told.model_copy(update={"metrics": {**told.metrics, **more}})


def record_steps(server: LiveServer, run: LaunchedRun, steps: Sequence[StepMessage]) -> None:
    for begin in range(0, len(steps), 20):
        answer = server.record(run, *steps[begin : begin + 20])
        assert answer.status_code == 200, answer.text


@pytest.fixture
def page(watched: Watched, shown: Shown) -> Page:
    return signed_in(watched, shown.server)


def chart(page: Page, name: str) -> Locator:
    """The picture of a metric, drawn."""
    found = page.get_by_role("region", name=name, exact=True).get_by_role("img").first
    expect(found.locator("canvas")).to_be_visible()
    return found


def point_at(picture: Locator, share: float) -> None:
    """Rest the pointer on a plot."""
    picture.scroll_into_view_if_needed()
    box = picture.locator(".u-over").bounding_box()
    assert box is not None
    picture.page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def number(text: str) -> float:
    """The first number of a text as the page writes it."""
    found = re.search(r"-?[\d,]*\.?\d+(e-?\d+)?", text.replace("−", "-"))
    assert found is not None, text
    return float(found[0].replace(",", ""))


def test_what_is_no_number_is_marked_at_the_edge_where_it_was(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.odd))
    picture = chart(page, BROKEN)
    for step, kind in NO_NUMBERS.items():
        at = step / NUM_ODD
        left, right = at - 0.06, at + 0.06
        edge = (left, 1 - EDGE, right, 1.0) if kind == "-Infinity" else (left, 0.0, right, EDGE)
        Ink(token="--state-failed", alphas=SOLID, part=edge).wait(picture, "> 5")
    inside = Ink(token="--state-failed", alphas=SOLID, part=(0.0, EDGE, 1.0, 1 - EDGE))
    assert inside.count(picture) == 0
    assert Ink(token="--state-failed", alphas=SOLID).count(chart(page, ENTROPY)) == 0


def test_o_takes_the_superseded_part_away_and_brings_it_back(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.tried_twice))
    picture = chart(page, ENTROPY)
    # The later attempt's line is in the lower half there.
    part = (SUPERSEDED_FROM / NUM_STEPS, 0.0, SUPERSEDED_TO / NUM_STEPS, 0.5)
    old = Ink(token="--metric", alphas=FAINT_OLD, part=part)
    elsewhere = Ink(token="--metric", alphas=SOLID)
    elsewhere.wait(picture, "> 100")
    old.wait(picture, "> 10")
    with_old = old.count(picture)
    page.keyboard.press("o")
    old.wait(picture, "=== 0")
    assert elsewhere.count(picture) > 100
    page.keyboard.press("o")
    old.wait(picture, f">= {with_old}")


def test_b_takes_the_band_of_extremes_away_and_brings_it_back(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.long))
    picture = chart(page, RAGGED)
    band = Ink(token="--metric", alphas=FAINT_BAND)
    line = Ink(token="--metric", alphas=SOLID)
    line.wait(picture, "> 100")
    band.wait(picture, "> 300")
    with_band = band.count(picture)
    page.keyboard.press("b")
    band.wait(picture, f"< {with_band / 3}")
    assert line.count(picture) > 100
    page.keyboard.press("b")
    band.wait(picture, f">= {with_band}")


def test_nothing_is_smoothed_at_first_and_smoothing_keeps_the_raw_line_faint(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.tried_twice))
    picture = chart(page, ENTROPY)
    raw = Ink(token="--metric", alphas=FAINT_RAW, part=(0.0, 0.0, SUPERSEDED_FROM / NUM_STEPS, 1.0))
    line = Ink(token="--metric", alphas=SOLID)
    line.wait(picture, "> 100")
    slider = page.get_by_role("slider", name="Smoothing")
    expect(slider).to_have_value("0")
    expect(page.get_by_text(re.compile("^EMA"))).to_have_count(0)
    sharp = raw.count(picture)
    slider.fill("0.9")
    expect(page.get_by_text("EMA 0.9")).to_be_visible()
    raw.wait(picture, f"> {3 * sharp + 50}")
    assert line.count(picture) > 100
    slider.fill("0")
    raw.wait(picture, f"<= {sharp}")


def test_the_readout_of_a_comparison_has_each_runs_value_at_the_same_samples(shown: Shown, page: Page) -> None:
    page.goto(shown.compare)
    readout = page.get_by_role("table").filter(has_text="batch").first
    expect(readout).to_contain_text("Newest")
    point_at(chart(page, "reward/mean"), 0.4)
    head = readout.get_by_role("columnheader").first
    expect(head).to_have_text(re.compile(r"^At [\d,]+.samples$"))
    at = number(head.inner_text())
    steps = set()
    for run, label in ((shown.tried_twice, "twice"), (shown.other, "other")):
        rows = shown.server.get(f"/runs/{run.id}/steps", limit=500)["items"]
        step, reward, batch = readout.get_by_role("row", name=re.compile(f"^{label} ")).get_by_role("cell").all()
        row = next(row for row in rows if row["step"] == number(step.inner_text()))
        distances = [abs(one["samples_total"] - at) for one in rows]
        assert abs(row["samples_total"] - at) <= min(distances) + 1
        expect(batch).to_have_text(str(row["global_batch_size"]))
        expect(reward).to_have_text(f"{row['metrics']['reward/mean']['value']:.3f}")
        steps.add(row["step"])
    # As many samples are another step of another run.
    assert len(steps) == 2


def test_the_table_behind_a_comparison_has_the_values_of_all_its_runs(shown: Shown, page: Page) -> None:
    page.goto(shown.compare.replace("&x=samples", ""))
    chart(page, "reward/mean").press("t")
    table = page.get_by_role("region", name="reward/mean, table")
    expect(table.get_by_role("row")).to_have_count(1 + NUM_STEPS)
    expect(table.get_by_role("columnheader")).to_have_text(["Step", "twice", "other"])
    runs = [shown.server.get(f"/runs/{run.id}/steps", limit=500)["items"] for run in (shown.tried_twice, shown.other)]
    for step in (0, SUPERSEDED_FROM + 3, NUM_STEPS - 1):
        values = [f"{rows[step]['metrics']['reward/mean']['value']:.3f}" for rows in runs]
        expect(table.get_by_role("row").nth(1 + step).get_by_role("cell")).to_have_text(values)
    page.get_by_role("region", name="reward/mean", exact=True).get_by_role("button", name="Back to the chart").click()
    chart(page, "reward/mean")


def test_the_tooltip_has_the_values_that_the_api_has_of_its_step(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.tried_twice))
    expect(page.get_by_text("newest values")).to_be_visible()
    point_at(chart(page, "Batch size and loss"), 0.6)
    hero = page.get_by_role("region", name="Batch size and loss", exact=True)
    tooltip = hero.locator("[aria-hidden=true]").filter(has_text="Enter opens the step")
    expect(tooltip).to_contain_text(re.compile(r"Step \d+"))
    values = tooltip.locator("dd")
    expect(values.nth(2)).to_have_text(re.compile(r"^\d+ per rank"))
    expect(values.last).to_have_text(re.compile(r"\d"))
    step = int(number(tooltip.inner_text().removeprefix("Step ")))
    row = shown.server.get(f"/runs/{shown.tried_twice.id}/steps", limit=500)["items"][step]
    assert row["step"] == step
    told = [number(text) for text in values.all_inner_texts()]
    assert told == pytest.approx(
        [
            row["metrics"]["train/loss"]["value"],
            row["global_batch_size"],
            row["num_microbatches"],
            100 * row["measured_idle_frac"],
            row["metrics"]["train/lr"]["value"],
        ],
        rel=5e-3,
    )


def test_a_pinned_metric_is_moved_forward_and_stays_there(shown: Shown, page: Page) -> None:
    page.goto(shown.address(shown.tried_twice))
    names = page.get_by_role("region", name=re.compile("^Pinned")).get_by_role("heading", level=3)
    expect(names).to_have_text(["reward/mean", "measured_idle_frac", "train/grad_norm", "train/lr"])
    page.get_by_role("region", name="train/lr").hover()
    page.get_by_role("button", name="Move train/lr forward").click()
    moved = ["reward/mean", "measured_idle_frac", "train/lr", "train/grad_norm"]
    expect(names).to_have_text(moved)
    page.reload()
    expect(names).to_have_text(moved)
    page.get_by_role("region", name="reward/mean").hover()
    page.get_by_role("button", name="Move reward/mean forward").click()
    expect(names).to_have_text(moved)


def fail_with_503(route: Route) -> None:
    problem = {"type": "about:blank", "title": "busy", "status": 503, "detail": "the server is busy"}
    route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(problem))


@pytest.mark.parametrize("name", ["Batch size and loss", ENTROPY])
def test_a_chart_that_did_not_load_says_so_and_loads_when_asked(browser: Browser, shown: Shown, name: str) -> None:
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        page = watched.open()
        page.goto(login_url(shown.server))
        expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
        asked = re.compile(r"/metrics/query\?.*(entropy|loss)" if name.startswith("Batch") else r"/query\?.*entropy")
        page.route(asked, fail_with_503)
        page.goto(shown.address(shown.tried_twice))
        panel = page.get_by_role("region", name=name, exact=True)
        expect(panel).to_contain_text("This chart did not load")
        expect(panel).to_contain_text("503")
        with page.expect_request(asked):
            panel.get_by_role("button", name="Try now").click()
        expect(panel).to_contain_text("This chart did not load")
        page.unroute_all(behavior="wait")
        if name != "Batch size and loss":
            # It tries again only when asked.
            panel.get_by_role("button", name="Try now").click()
        expect(panel.locator("canvas")).to_be_visible()
        expect(panel.get_by_text("This chart did not load")).to_have_count(0)
        assert all("503" in error for error in watched.errors), watched.errors
