"""Charts under a hand in a real browser: wheel, drag with Shift, fingers and keys zoom and move all of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from playwright.sync_api import TimeoutError as NotInTime

from orchestrator.contracts.messages import Phase
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched, watched_context
from tests.web.conftest import login_url, signed_in
from tests.web.recorded_run import record, recorded_step

pytestmark = pytest.mark.stack

NUM_STEPS = 100
_RESTS_MS = 400
"""After this a movement is in the address."""
_DRAWN = """(canvas) => {
  const [from, to] = [Math.ceil(60 * devicePixelRatio), Math.floor(canvas.width / 2)];
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(from, 0, to - from, canvas.height - 30);
  const painted = new Array(to - from).fill(0);
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) painted[(at / 4) % (to - from)] += 1;
  const bare = Math.min(...painted);
  return painted.filter((count) => count > bare).length / painted.length;
}"""
"""Share of the left half of a plot where more than the grid is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    server: LiveServer
    runs: tuple[LaunchedRun, LaunchedRun]

    @property
    def overview(self) -> str:
        return f"{self.server.url}/runs/{self.runs[0].id}"

    @property
    def compare(self) -> str:
        ids = ",".join(f'"{run.id}"' for run in self.runs)
        return f"{self.server.url}/compare?runs=[{ids}]"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with running_server(tmp_path_factory.mktemp("gestures") / "home") as server:
        runs = (server.launch(name="one"), server.launch(name="other"))
        for run in runs:
            for first in range(0, NUM_STEPS, 20):
                record(server, run, range(first, first + 20))
        yield Shown(server=server, runs=runs)


@pytest.fixture
def page(watched: Watched, shown: Shown) -> Page:
    return signed_in(watched, shown.server)


def over(page: Page) -> Locator:
    """Where the first chart of the page is touched."""
    return page.locator(".u-over").first


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    left: float
    width: float
    y: float

    def at(self, share: float) -> tuple[float, float]:
        return self.left + share * self.width, self.y


def place(page: Page) -> Place:
    expect(over(page)).to_be_visible()
    box = over(page).bounding_box()
    assert box is not None
    return Place(left=box["x"], width=box["width"], y=box["y"] + box["height"] / 2)


def range_in(url: str) -> tuple[float, float] | None:
    """What the address says; None: all there is."""
    asked = parse_qs(urlparse(url).query)
    return (float(asked["from"][0]), float(asked["to"][0])) if "from" in asked else None


def shown_range(page: Page) -> tuple[float, float] | None:
    """The range once the hand rests, where it may be the one before."""
    page.wait_for_timeout(_RESTS_MS)
    return range_in(page.url)


def next_range(page: Page, before: tuple[float, float] | None) -> tuple[float, float]:
    """The range once the address says another one than before, and stays with it."""
    page.wait_for_url(lambda url: range_in(url) not in (before, None))
    found = shown_range(page)
    assert found is not None
    return found


def turn(page: Page, at: tuple[float, float], *, by: float, key: str | None = None) -> None:
    page.mouse.move(*at)
    if key:
        page.keyboard.down(key)
    page.mouse.wheel(0, by)
    if key:
        page.keyboard.up(key)


@pytest.mark.parametrize("address", ["overview", "compare"])
def test_the_wheel_zooms_where_the_pointer_is_and_moves_what_is_zoomed(shown: Shown, page: Page, address: str) -> None:
    page.goto(getattr(shown, address))
    plot = place(page)
    turn(page, plot.at(0.25), by=-400, key="Control")
    zoomed = next_range(page, None)
    under_pointer = zoomed[0] + 0.25 * (zoomed[1] - zoomed[0])
    assert under_pointer == pytest.approx(0.25 * NUM_STEPS, abs=1.0)
    assert zoomed[1] - zoomed[0] < NUM_STEPS / 1.8
    turn(page, plot.at(0.5), by=plot.width / 10, key="Shift")
    moved = next_range(page, zoomed)
    tenth = (zoomed[1] - zoomed[0]) / 10
    assert moved == pytest.approx((zoomed[0] + tenth, zoomed[1] + tenth), abs=0.1)
    turn(page, plot.at(0.5), by=4000, key="Control")
    page.wait_for_url(lambda url: range_in(url) is None)


def test_a_plain_wheel_scrolls_the_page(shown: Shown, page: Page) -> None:
    page.goto(shown.overview)
    plot = place(page)
    # The panels below the chart come after it: until then there is nothing to scroll to.
    page.wait_for_function("() => document.documentElement.scrollHeight > innerHeight + 100")
    turn(page, plot.at(0.5), by=300)
    page.wait_for_function("() => scrollY > 0")
    assert shown_range(page) is None


@pytest.mark.parametrize("address", ["overview", "compare"])
def test_a_drag_with_shift_takes_the_chart_along_and_draws_what_it_uncovers(
    shown: Shown, page: Page, address: str
) -> None:
    page.goto(getattr(shown, address))
    plot = place(page)
    turn(page, plot.at(0.5), by=-600, key="Control")
    before = next_range(page, None)
    canvas = page.locator("canvas").first
    page.mouse.move(*plot.at(0.2))
    page.keyboard.down("Shift")
    page.mouse.down()
    # No answer comes: what is drawn at the left is what was known before.
    page.route("**/api/v1/metrics/query?**", lambda route: None)
    page.mouse.move(*plot.at(0.7), steps=8)
    _wait_until_drawn(canvas)
    page.mouse.up()
    page.keyboard.up("Shift")
    after = next_range(page, before)
    half = (before[1] - before[0]) / 2
    assert after == pytest.approx((before[0] - half, before[1] - half), abs=0.5)
    _wait_until_drawn(canvas)
    # No click came of it: the page is the same.
    expect(over(page)).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")


def select(page: Page, plot: Place, begin: float, end: float, *, button: Literal["left", "right"] = "left") -> None:
    page.mouse.move(*plot.at(begin))
    page.mouse.down(button=button)
    page.mouse.move(*plot.at(end), steps=4)


@pytest.mark.parametrize("address", ["overview", "compare"])
def test_points_that_come_while_a_range_is_selected_neither_lose_nor_move_it(
    shown: Shown, page: Page, address: str
) -> None:
    runs = (shown.server.launch(name="young"), shown.server.launch(name="beside"))
    for run in runs:
        record(shown.server, run, range(10))
    page.goto(getattr(replace(shown, runs=runs), address))
    plot = place(page)
    is_overview = address == "overview"
    row = page.get_by_role("row", name=re.compile(r"^young 9 "))
    expect(page.get_by_text("Steps 0 to 9") if is_overview else row).to_be_visible()
    canvas = page.locator("canvas").first
    before = canvas.screenshot()
    select(page, plot, 0.2, 0.6)
    for run in runs:
        record(shown.server, run, range(10, 20))
    if is_overview:
        expect(page.get_by_text("Steps 0 to 19")).to_be_visible()
    else:
        page.wait_for_timeout(_RESTS_MS)
    page.mouse.up()
    # Of the ten steps that were drawn: of twenty it were 4 to 12.
    assert next_range(page, None) == pytest.approx((2, 6), abs=0.01)
    assert canvas.screenshot() != before


def test_what_is_read_off_an_axis_that_goes_selects_nothing_on_the_one_that_comes(shown: Shown, page: Page) -> None:
    page.goto(shown.overview)
    plot = place(page)
    _wait_until_drawn(page.locator("canvas").first)
    axes = page.get_by_role("group", name="x axis")
    waiting: list[Route] = []
    page.route("**/api/v1/metrics/query?**", lambda route: waiting.append(route), times=1)
    axes.get_by_role("button", name="Tokens").click()
    expect(axes).to_have_attribute("aria-busy", "true")
    select(page, plot, 0.2, 0.6)
    page.mouse.up()
    assert shown_range(page) is None
    select(page, plot, 0.2, 0.6)
    for route in waiting:
        route.continue_()
    expect(axes).not_to_have_attribute("aria-busy", "true")
    page.mouse.up()
    assert shown_range(page) is None
    select(page, plot, 0.2, 0.6)
    page.mouse.up()
    page.unroute_all(behavior="ignoreErrors")
    assert next_range(page, None)[1] > NUM_STEPS


def test_the_right_button_selects_nothing(shown: Shown, page: Page) -> None:
    page.goto(shown.overview)
    plot = place(page)
    select(page, plot, 0.2, 0.6, button="right")
    assert _selected_px(page) == 0
    page.mouse.up(button="right")
    page.mouse.move(*plot.at(0.8))
    assert _selected_px(page) == 0
    assert shown_range(page) is None


def test_a_window_that_loses_the_focus_gives_up_what_was_being_selected(shown: Shown, page: Page) -> None:
    page.goto(shown.overview)
    plot = place(page)
    select(page, plot, 0.2, 0.6)
    assert _selected_px(page) > 0
    page.evaluate("dispatchEvent(new Event('blur'))")
    page.wait_for_function("() => document.querySelector('.u-select')?.clientWidth === 0")
    page.mouse.move(*plot.at(0.8))
    assert _selected_px(page) == 0
    page.mouse.up()
    assert shown_range(page) is None


def _selected_px(page: Page) -> float:
    return float(page.locator(".u-select").first.evaluate("box => box.clientWidth"))


@pytest.mark.parametrize("address", ["overview", "compare"])
def test_keys_zoom_and_move(shown: Shown, page: Page, address: str) -> None:
    page.goto(getattr(shown, address))
    place(page)
    page.keyboard.press(".")
    assert shown_range(page) is None
    page.keyboard.press("+")
    page.keyboard.press("+")
    quarter = next_range(page, None)
    page.keyboard.press(",")
    left = next_range(page, quarter)
    assert left[0] < quarter[0]
    for _ in range(20):
        page.keyboard.press(".")
    end = next_range(page, left)
    assert end[1] - end[0] == pytest.approx(quarter[1] - quarter[0], abs=0.01)
    assert end[1] >= NUM_STEPS - 1.01
    page.keyboard.press("0")
    page.wait_for_url(lambda url: range_in(url) is None)


def test_what_is_chosen_right_after_a_movement_holds(shown: Shown, page: Page) -> None:
    page.goto(shown.overview)
    place(page)
    page.keyboard.press("+")
    page.keyboard.press("0")
    assert shown_range(page) is None
    page.keyboard.press("+")
    page.get_by_role("group", name="x axis").get_by_role("button", name="Tokens").click()
    assert shown_range(page) is None
    page.keyboard.press("+")
    page.get_by_role("link", name="Logs", exact=True).click()
    page.wait_for_timeout(_RESTS_MS)
    expect(page).to_have_url(re.compile(r"/logs$"))


def test_a_part_that_a_link_opened_is_moved_too(shown: Shown, page: Page) -> None:
    page.goto(f"{shown.overview}?from=40&to=60")
    place(page)
    expect(page.get_by_text("Steps 40 to 59")).to_be_visible()
    # Where the run ends comes after the part that is looked at: until then there is nothing to move to.
    for _ in range(10):
        page.keyboard.press(".")
        with suppress(NotInTime):
            page.wait_for_url(lambda url: range_in(url) != (40.0, 60.0), timeout=5 * _RESTS_MS)
            break
    assert shown_range(page) == pytest.approx((44.0, 64.0))
    expect(page.get_by_text("Steps 44 to 63")).to_be_visible()


def test_fingers_move_and_stretch_a_chart_and_still_scroll_the_page(browser: Browser, shown: Shown) -> None:
    with watched_context(browser, viewport={"width": 420, "height": 900}, has_touch=True) as watched:
        page = watched.open()
        page.goto(login_url(shown.server))
        page.goto(shown.overview)
        plot = place(page)
        _fingers(page, [[plot.at(0.4), plot.at(0.6)], [plot.at(0.2), plot.at(0.8)]])
        zoomed = next_range(page, None)
        assert zoomed[1] - zoomed[0] == pytest.approx(NUM_STEPS / 3, rel=0.15)
        _fingers(page, [[plot.at(0.4)], [plot.at(0.8)]])
        moved = next_range(page, zoomed)
        assert moved[0] < zoomed[0] - 5
        page.evaluate("scrollTo(0, 0)")
        x, y = plot.at(0.5)
        _fingers(page, [[(x, y)], [(x, y - 150)]])
        page.wait_for_function("() => scrollY > 0")
        assert watched.errors == []


def _wait_until_drawn(canvas: Locator) -> None:
    """A redraw is for the next frame."""
    for _ in range(100):
        if canvas.evaluate(_DRAWN) > 0.9:
            return
        canvas.page.wait_for_timeout(50)
    pytest.fail("the left half stays empty")


def _fingers(page: Page, ways: list[list[tuple[float, float]]]) -> None:
    """Fingers go down at the first places, and move to the last ones."""
    session = page.context.new_cdp_session(page)
    began, ended = ways
    steps = 6
    for step in range(steps + 1):
        points = [
            {"x": a[0] + (b[0] - a[0]) * step / steps, "y": a[1] + (b[1] - a[1]) * step / steps, "id": k}
            for k, (a, b) in enumerate(zip(began, ended, strict=True))
        ]
        kind = "touchStart" if step == 0 else "touchMove"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def test_a_run_that_trained_supervised_first_is_looked_at_without_that_and_goes_on_growing(
    shown: Shown, page: Page
) -> None:
    warm_start = {
        "type": "sft",
        "max_steps": 4,
        "until_reward": 0.5,
        "batch": {"type": "fixed", "global_batch_size": 8},
    }
    run = shown.server.launch(name="warmed up", warm_start=warm_start)
    for step in range(10):
        told = recorded_step(step).model_copy(update={"phase": Phase.WARM_START if step < 4 else Phase.RL})
        assert shown.server.record(run, told).status_code == 200
    page.goto(f"{shown.server.url}/runs/{run.id}")
    expect(page.get_by_text("Steps 0 to 9")).to_be_visible()
    only = page.get_by_role("button", name="RL only")
    only.click()
    expect(page.get_by_text("Steps 4 to 9")).to_be_visible()
    assert shown.server.record(run, recorded_step(10)).status_code == 200
    expect(page.get_by_text("Steps 4 to 10")).to_be_visible()
    page.reload()
    expect(only).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Steps 4 to 10")).to_be_visible()
    only.click()
    expect(page.get_by_text("Steps 0 to 10")).to_be_visible()
    page.goto(f'{shown.server.url}/compare?runs=["{run.id}"]')
    steps = _table_of(page, "train/loss").get_by_role("rowheader")
    expect(steps).to_have_text([str(step) for step in range(11)])
    only.click()
    expect(steps).to_have_text([str(step) for step in range(4, 11)])
    assert shown.server.record(run, recorded_step(11)).status_code == 200
    page.reload()
    expect(only).to_have_attribute("aria-pressed", "true")
    _table_of(page, "train/loss")
    expect(steps).to_have_text([str(step) for step in range(4, 12)])


def _table_of(page: Page, metric: str) -> Locator:
    """Taken for the chart by its key."""
    page.get_by_role("region", name=metric, exact=True).get_by_role("img").press("t")
    return page.get_by_role("region", name=f"{metric}, table")
