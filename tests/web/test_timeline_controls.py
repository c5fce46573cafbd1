"""The controls of a run's timeline in a real browser: its window of time, its table, its shares, and its advisories."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.server.factories import metric
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import group_message, iteration_message, post, rollout_message
from tests.web.browser import Watched
from tests.web.conftest import signed_in
from tests.web.recorded_detail import STEP_S, record_lines, recorded_lines, timed_step
from tests.web.recorded_run import beat, recorded_step

pytestmark = pytest.mark.stack

NUM_STEPS, SHOWN, WORST = 3, 2, 1
"""WORST: the step of the odd run that advisories lead to."""
NUM_LINES = 300
LABELS = {
    "generate": "Generate",
    "score": "Score",
    "log_probs": "Log-probs",
    "schedule": "Schedule",
    "forward_backward": "Forward-backward",
    "optimizer": "Optimizer",
    "push": "Push weights",
}
"""In the order of a step."""
LANES = ("driver", "engine 0", "rank 0", "rank 1")


class Span(NamedTuple):
    actor: str
    activity: str
    start: float
    end: float

    def inside(self, start: float, end: float) -> float:
        return max(0.0, min(self.end, end) - max(self.start, start))


def spans() -> list[Span]:
    """What was recorded of the step that is shown, by lane and then by time."""
    told = timed_step(SHOWN).timeline
    assert told is not None
    found = [Span(*fields) for fields in zip(told.actor, told.activity, told.start_s, told.end_s, strict=True)]
    return sorted(found, key=lambda span: (LANES.index(span.actor), span.start))


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def busy(actors: tuple[str, ...], start: float, end: float) -> str:
    """Share of a window in which these actors were at anything."""
    seconds = sum(span.inside(start, end) for span in spans() if span.actor in actors)
    return _percent(seconds / ((end - start) * len(actors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    server: LiveServer
    run: LaunchedRun
    odd: LaunchedRun

    def timeline(self, run: LaunchedRun | None = None) -> str:
        return f"{self.server.url}/runs/{(run or self.run).id}/timeline"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with running_server(tmp_path_factory.mktemp("timelines") / "home") as server:
        run, odd = server.launch(name="timed"), server.launch(name="odd")
        answer = server.record(run, *map(timed_step, range(NUM_STEPS)))
        assert answer.status_code == 200, answer.text
        _record_odd(server, odd)
        yield Shown(server=server, run=run, odd=odd)


def _record_odd(server: LiveServer, run: LaunchedRun) -> None:
    """Many of its responses are cut, most of its groups are alike, and for an hour no step has ended."""
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    for step in range(NUM_STEPS):
        started_at = long_ago + timedelta(seconds=step)
        share = 1.0 if step == WORST else 0.7
        metrics = {"rollout/truncated_frac": metric(share), "reward/zero_variance_frac": metric(share)}
        message = recorded_step(step)
        changes = {"started_at": started_at, "ended_at": started_at + timedelta(seconds=1)}
        told = message.model_copy(update={**changes, "metrics": {**message.metrics, **metrics}})
        answer = server.record(run, told)
        assert answer.status_code == 200, answer.text
        rollouts = [
            rollout_message(f"r{step}.{k}", step=step, reward=float(k), truncated=step == WORST and k == 0)
            for k in range(2)
        ]
        answer = post(server, run, "rollouts", iteration_message(step, [group_message(f"g{step}", rollouts)]))
        assert answer.status_code == 200, answer.text
    record_lines(server, run, recorded_lines(0, NUM_LINES))
    beat(server, run, NUM_STEPS)


@pytest.fixture
def page(watched: Watched, shown: Shown) -> Page:
    return signed_in(watched, shown.server)


def picture(page: Page) -> Locator:
    return page.get_by_role("region", name=f"Timeline of step {SHOWN}", exact=True)


def show(page: Page, shown: Shown) -> None:
    page.goto(shown.timeline())
    expect(picture(page).get_by_role("img")).to_be_visible()


def plot(page: Page) -> FloatRect:
    box = picture(page).get_by_role("img").bounding_box()
    assert box is not None
    return box


def window(page: Page, *, after: str = "") -> tuple[float, float]:
    """The seconds that the address names, once it is no more the one from before."""
    expect(page).to_have_url(re.compile("from="))
    if after:
        expect(page).not_to_have_url(after)
    asked = parse_qs(urlparse(page.url).query)
    return float(asked["from"][0]), float(asked["to"][0])


def in_view(page: Page, length: str) -> None:
    """The time in view, as the facts tell it."""
    expect(page.get_by_role("region", name="Time in view")).to_contain_text(f"Time in view{length}")


def rows_of(page: Page, start: float, end: float) -> None:
    """The table has the boxes that lie in this window, and no others."""
    boxes = page.get_by_role("table").last.get_by_role("row")
    wanted = [span for span in spans() if span.end > start and span.start < end]
    expect(boxes).to_have_text(
        ["ActorStepActivityFromToTakes"]
        + [
            f"{span.actor}{SHOWN}{LABELS[span.activity]}{span.start:.3f} s{span.end:.3f} s"
            f"{round((span.end - span.start) * 1000)} ms"
            for span in wanted
        ]
    )


def busy_rows(page: Page, start: float, end: float) -> None:
    actors = page.get_by_role("table").first.get_by_role("row")
    counts = {
        name: sum(span.actor == name and span.end > start and span.start < end for span in spans()) for name in LANES
    }
    expect(actors).to_have_text(
        ["ActorBusy in viewBoxes"] + [f"{name}{busy((name,), start, end)}{counts[name]}" for name in LANES]
    )


def test_buttons_zoom_into_the_middle_and_back_and_the_table_has_what_is_left(shown: Shown, page: Page) -> None:
    show(page, shown)
    plus, minus, everything = (
        page.get_by_role("button", name=name, exact=True) for name in ("Zoom in", "Zoom out", "All")
    )
    in_view(page, "1.0 s")
    expect(minus).to_be_disabled()
    expect(everything).to_be_disabled()
    plus.click()
    in_view(page, "600 ms")
    assert window(page) == pytest.approx((0.2, 0.8))
    plus.click()
    in_view(page, "360 ms")
    minus.click()
    in_view(page, "600 ms")
    page.get_by_role("button", name="Table", exact=True).click()
    rows_of(page, 0.2, 0.8)
    busy_rows(page, 0.2, 0.8)
    everything.click()
    rows_of(page, 0.0, STEP_S)
    busy_rows(page, 0.0, STEP_S)
    expect(page).not_to_have_url(re.compile("from="))
    in_view(page, "1.0 s")
    expect(everything).to_be_disabled()


def test_the_wheel_with_ctrl_zooms_under_the_pointer_and_a_drag_moves_the_window(shown: Shown, page: Page) -> None:
    show(page, shown)
    box = plot(page)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], middle)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    start, end = window(page)
    length = end - start
    assert length < 0.6 * STEP_S
    assert start + 0.25 * length == pytest.approx(0.25 * STEP_S, abs=0.01)
    in_view(page, f"{round(length * 1000)} ms")
    before = page.url
    page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.up()
    moved = window(page, after=before)
    assert moved == pytest.approx((start + 0.2 * length, end + 0.2 * length), abs=0.005)
    page.get_by_role("button", name="Table", exact=True).click()
    rows_of(page, *moved)


def test_a_stretch_that_is_drawn_over_the_seconds_comes_into_view(shown: Shown, page: Page) -> None:
    show(page, shown)
    box = plot(page)
    above = box["y"] - 8
    page.mouse.move(box["x"] + 0.25 * box["width"], above)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], above)
    expect(picture(page).locator("[aria-hidden=true] > i")).to_be_visible()
    page.mouse.up()
    start, end = window(page)
    assert (start, end) == pytest.approx((0.25, 0.75), abs=0.005)
    in_view(page, f"{round((end - start) * 1000)} ms")
    page.get_by_role("button", name="Table", exact=True).click()
    rows_of(page, start, end)


def test_the_step_that_is_read_stays_and_a_drag_that_is_taken_away_moves_nothing(shown: Shown, page: Page) -> None:
    run = shown.server.launch(name="goes on")
    assert shown.server.record(run, timed_step(0)).status_code == 200
    page.goto(shown.timeline(run))
    first, second = (page.get_by_role("region", name=f"Timeline of step {step}", exact=True) for step in (0, 1))
    first.get_by_role("img").hover(position={"x": 400, "y": 20})
    expect(page.get_by_text("newest step")).to_be_visible()
    assert shown.server.record(run, timed_step(1)).status_code == 200
    expect(page.get_by_text("waits while it is read")).to_be_visible()
    expect(first).to_be_visible()
    page.mouse.move(0, 0)
    expect(second).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile("step=1&from="))
    assert shown.server.record(run, timed_step(2)).status_code == 200
    expect(page.get_by_role("button", name="Next step")).to_be_enabled()
    expect(second).to_be_visible()
    lanes = second.get_by_role("group", name=re.compile("Arrow keys read it"))
    lanes.hover()
    page.mouse.down()
    lanes.dispatch_event("pointercancel")
    page.mouse.move(600, 500, steps=4)
    expect(lanes).not_to_have_attribute("data-dragging", "true")
    page.mouse.up()


def test_every_phase_of_a_step_is_named_and_has_its_own_colour(shown: Shown, page: Page) -> None:
    show(page, shown)
    assert {span.activity for span in spans()} == set(LABELS)
    fills = set()
    for label in (*LABELS.values(), "Waiting"):
        named = picture(page).get_by_text(label, exact=True)
        expect(named).to_be_visible()
        fills.add(named.locator("i").evaluate("one => getComputedStyle(one).background"))
    assert len(fills) == len(LABELS) + 1


def shares(actors: tuple[str, ...]) -> list[tuple[str, str]]:
    """What each activity took of the whole step's time of these actors, and what is left."""
    seconds: dict[str, float] = defaultdict(float)
    for span in spans():
        if span.actor in actors:
            seconds[span.activity] += span.inside(0.0, STEP_S)
    whole = STEP_S * len(actors)
    told = [(LABELS[one], _percent(seconds[one] / whole)) for one in LABELS if one in seconds]
    return [*told, ("Waiting", _percent(1 - sum(seconds.values()) / whole))]


def test_the_shares_of_the_time_are_those_that_were_recorded(shown: Shown, page: Page) -> None:
    show(page, shown)
    facts = page.get_by_role("region", name="Time in view")
    kinds = {"driver": ("driver",), "engine 0": ("engine 0",), "2 ranks": ("rank 0", "rank 1")}
    expect(facts.get_by_role("heading", level=4)).to_have_text(
        [f"{name}{busy(actors, 0.0, STEP_S)} busy" for name, actors in kinds.items()]
    )
    told = [share for actors in kinds.values() for share in shares(actors)]
    expect(facts.get_by_role("term")).to_have_text([label for label, _ in told])
    expect(facts.get_by_role("definition")).to_have_text([share for _, share in told])
    for actor in ("rank 0", "rank 1", "engine 0", "driver"):
        row = picture(page).get_by_text(actor, exact=True).locator("xpath=..")
        expect(row).to_have_text(f"{actor}{busy((actor,), 0.0, STEP_S)}")


def advisory(page: Page, title: str) -> Locator:
    advisories = page.get_by_role("region", name="Advisories")
    return advisories.get_by_role("listitem").filter(has=page.get_by_role("heading", name=re.compile(title)))


def test_advisories_tell_what_they_know_and_what_to_do(shown: Shown, page: Page) -> None:
    page.goto(shown.timeline(shown.odd))
    told = shown.server.get(f"/runs/{shown.odd.id}/advisories")["items"]
    kinds = {one["kind"] for one in told}
    assert {"stall", "truncation", "no_signal"} <= kinds
    expect(page.get_by_role("region", name="Advisories").get_by_role("listitem")).to_have_count(len(told))
    for one in told:
        item = advisory(page, re.escape(one["title"]))
        expect(item).to_contain_text(one["advice"])
        if one["kind"] != "stall":  # its evidence counts the time
            expect(item).to_contain_text(one["evidence"])
    cut = advisory(page, "Many responses end by length")
    expect(cut).to_contain_text("80% of the responses were cut; at step 1 it was 100%.")
    expect(cut).to_contain_text("Raise rollout.max_new_tokens")
    stalled = advisory(page, "Critical: No step for a long time")
    expect(stalled).to_contain_text(re.compile(r"Step 2 ended 1.h.* ago; usual steps take 1\.0.s\."))
    expect(stalled).to_contain_text("Its driver says: generating 32 rollouts.")


def test_an_advisory_leads_to_its_step_its_schedule_and_its_rollout(shown: Shown, page: Page) -> None:
    page.goto(shown.timeline(shown.odd))
    cut = advisory(page, "Many responses end by length")
    cut.get_by_role("link", name=f"Step {WORST}", exact=True).click()
    expect(page.get_by_role("region", name=f"Timeline of step {WORST}", exact=True)).to_be_visible()
    cut.get_by_role("link", name="Its schedule").click()
    expect(page.get_by_role("grid", name=f"Schedule of step {WORST}")).to_be_visible()
    page.goto(shown.timeline(shown.odd))
    cut.get_by_role("link", name="The rollout").click()
    expect(page.get_by_role("region", name=re.compile("^Rollout 0"))).to_contain_text(f"answer of r{WORST}.0")


def test_an_advisory_leads_to_the_rollouts_of_its_iteration_and_to_the_end_of_the_log(shown: Shown, page: Page) -> None:
    page.goto(shown.timeline(shown.odd))
    alike = advisory(page, "Most groups give no signal")
    alike.get_by_role("link", name=f"Rollouts of iteration {WORST}").click()
    groups = page.get_by_role("region", name="Groups").get_by_role("button")
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text(f"prompt of g{WORST}")
    page.goto(shown.timeline(shown.odd))
    advisory(page, "No step for a long time").get_by_role("link", name="Newest lines of the logs").click()
    lines = page.get_by_role("region", name="Lines")
    expect(lines.get_by_text(recorded_lines(NUM_LINES - 1, 1)[0].text)).to_be_in_viewport()
