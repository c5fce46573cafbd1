"""Rollouts, logs and timeline of a run in a real browser. One server and its runs are shared: each test only looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import group_message, iteration_message, log_line, post, rollout_message
from tests.web.browser import Watched, severe_findings, watched_context
from tests.web.conftest import login_url, signed_in
from tests.web.recorded_detail import HOSTILE, record_detail, record_lines, recorded_lines, timed_step

pytestmark = pytest.mark.stack

NUM_LINES = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A server with a run that told everything, and one whose texts come from an enemy."""

    server: LiveServer
    run: LaunchedRun
    hostile: LaunchedRun

    def address(self, page: str, run: LaunchedRun | None = None) -> str:
        return f"{self.server.url}/runs/{(run or self.run).id}/{page}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with running_server(tmp_path_factory.mktemp("records") / "home") as server:
        run, hostile = server.launch(name="detailed"), server.launch(name="hostile")
        record_detail(server, run, range(3))
        record_lines(server, run, recorded_lines(0, NUM_LINES))
        _record_hostile(server, hostile)
        yield Recorded(server=server, run=run, hostile=hostile)


def _record_hostile(server: LiveServer, run: LaunchedRun) -> None:
    text = HOSTILE + "y" * 10_000
    tokens = {"pieces": (HOSTILE, "y" * 10_000), "log_probs": (-5, -1), "trainer_log_probs": ()}
    rollouts = [rollout_message(f"{HOSTILE} {k}", reward=float(k), text=text, **tokens) for k in range(2)]
    group = group_message(HOSTILE, rollouts, prompt=text, answer=HOSTILE, task=HOSTILE)
    assert server.record(run, timed_step(0)).status_code == 200
    assert post(server, run, "rollouts", iteration_message(0, [group])).status_code == 200
    record_lines(server, run, [log_line(0, text, source="<b>rank</b>"), log_line(1, HOSTILE, source="<b>rank</b>")])


@pytest.fixture
def page(watched: Watched, recorded: Recorded) -> Page:
    return signed_in(watched, recorded.server)


def test_a_response_is_read_token_by_token_and_followed_to_its_place_and_back(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    groups = page.get_by_role("region", name="Groups")
    expect(groups.get_by_role("button").first).to_contain_text("trained")
    expect(page.get_by_text(re.compile(r"generated = \d+ trained"))).to_be_visible()
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("rollout=r2"))
    rollout = page.get_by_role("region", name=re.compile("^Rollout 0"))
    rollout.locator("[data-token='1']").hover()
    expect(rollout).to_contain_text("probability")
    rollout.get_by_role("button", name="Trainer gap").click()
    expect(page).to_have_url(re.compile("shade=gap"))
    rollout.get_by_role("group", name=re.compile("^Response")).focus()
    page.keyboard.press("ArrowRight")
    expect(rollout).to_contain_text("difference")
    assert severe_findings(page) == []
    place = rollout.get_by_role("link", name=re.compile("rank [01], micro-batch"))
    told = place.inner_text()
    place.click()
    expect(page).to_have_url(re.compile(r"/schedule\?step=2&sample="))
    cell = page.get_by_role("gridcell", name=re.compile(told.split(" on ")[1], re.IGNORECASE))
    cell.first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/rollouts.*rollout=r2"))


def test_rollouts_are_filtered_searched_and_compared(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts?iteration=1"))
    rows = page.get_by_role("region", name="Groups").get_by_role("button")
    expect(rows.first).to_be_visible()
    all_groups = rows.count()
    page.get_by_role("button", name=re.compile("^Filtered")).click()
    expect(rows.first).to_contain_text("filtered")
    assert 0 < rows.count() < all_groups
    page.keyboard.press("f")
    page.keyboard.type("nothing like it")
    expect(page.get_by_role("heading", name="No rollout matches")).to_be_visible()
    page.get_by_role("button", name="Clear filter").click()
    page.get_by_role("button", name="Diff two").click()
    diff = page.get_by_role("region", name="Diff")
    expect(diff).to_contain_text("shared, compared by word")
    expect(page).to_have_url(re.compile("diff="))
    assert severe_findings(page) == []
    page.reload()
    expect(diff).to_contain_text("shared, compared by word")


def test_lines_that_come_do_not_move_a_reader_who_looks_back(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("logs"))
    lines = page.get_by_role("region", name="Lines")
    last = recorded_lines(NUM_LINES - 1, 1)[0]
    expect(lines.get_by_text(last.text)).to_be_visible()
    later = last.at + timedelta(seconds=1)
    record_lines(recorded.server, recorded.run, [log_line(0, "while at the end", at=later)])
    expect(lines.get_by_text("while at the end")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 640})
    page.wait_for_function("""() => {
      const { scrollTop, clientHeight, scrollHeight } = document.querySelector("section[aria-label=Lines]");
      return scrollTop + clientHeight >= scrollHeight - 1;
    }""")
    lines.hover()
    page.mouse.wheel(0, -400)
    expect(page.get_by_role("button", name="Newest line")).to_be_visible()
    offset = lines.evaluate("element => element.scrollTop")
    record_lines(recorded.server, recorded.run, [log_line(i, "behind", at=later) for i in range(1, 38)])
    button = page.get_by_role("button", name="37 new lines")
    expect(button).to_be_visible()
    assert lines.evaluate("element => element.scrollTop") == offset
    button.click()
    behind = lines.get_by_text("behind").last
    expect(behind).to_be_visible()
    behind.dblclick()
    offset = lines.evaluate("element => element.scrollTop")
    record_lines(recorded.server, recorded.run, [log_line(i, "beside", at=later) for i in range(38, 98)])
    button = page.get_by_role("button", name="60 new lines")
    expect(button).to_be_visible()
    assert page.evaluate("getSelection().toString()").strip() == "behind"
    assert lines.evaluate("element => element.scrollTop") == offset
    button.click()
    expect(lines.get_by_text("beside").last).to_be_visible()
    record_lines(recorded.server, recorded.run, [log_line(98, "at the end again", at=later)])
    expect(lines.get_by_text("at the end again")).to_be_in_viewport()
    assert severe_findings(page) == []


def test_a_text_is_found_in_the_log_and_linked_to(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("logs?source=rank+0"))
    expect(page.get_by_role("region", name="Lines").get_by_role("listitem").first).to_be_visible()
    page.keyboard.press("f")
    page.keyboard.type("NONFINITE")
    hits = page.get_by_role("status").filter(has_text="hits")
    expect(hits).to_have_text("6 hits")
    page.keyboard.press("Enter")
    expect(hits).to_have_text("1 of 6 hits")
    lines = page.get_by_role("region", name="Lines")
    pointed = lines.locator("[data-pointed]")
    expect(pointed).to_be_in_viewport()
    expect(pointed.locator("mark")).to_have_text("NonFinite")
    pointed.get_by_role("button", name=re.compile("more lines")).click()
    expect(pointed).to_contain_text("forward_backward")
    page.reload()
    expect(pointed).to_be_in_viewport()
    page.get_by_role("button", name="Only hits").click()
    expect(lines.get_by_role("listitem")).to_have_count(6)
    page.get_by_role("button", name="Errors").click()
    expect(lines.get_by_role("listitem")).to_have_count(6)


def test_a_timeline_is_read_by_keyboard_and_zoomed(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("timeline"))
    region = page.get_by_role("region", name="Timeline of step 2")
    plot = region.get_by_role("group", name=re.compile("Arrow keys read it"))
    expect(region.get_by_role("img", name=re.compile("2.ranks .* busy"))).to_be_visible()
    plot.focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(r"from=.*&to="))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("from="))
    page.get_by_role("region", name="Longest waits").get_by_role("button").first.click()
    expect(page).to_have_url(re.compile(r"from=.*&to="))
    assert severe_findings(page) == []
    page.keyboard.press("t")
    expect(region.get_by_role("row").filter(has_text="Forward-backward").first).to_be_visible()
    page.get_by_role("button", name="5", exact=True).click()
    expect(page.get_by_role("region", name="Timeline of steps 0 to 2", exact=True)).to_be_visible()
    advisories = page.get_by_role("region", name="Advisories")
    advisories.get_by_role("link", name=re.compile("^Step")).first.click()
    expect(page).to_have_url(re.compile("/timeline.*step="))


@pytest.mark.parametrize("width", [1600, 420])
def test_texts_of_an_enemy_are_text_and_break_nothing(recorded: Recorded, browser: Browser, width: int) -> None:
    with watched_context(browser, viewport={"width": width, "height": 900}, color_scheme="dark") as watched:
        page = watched.open()
        page.goto(login_url(recorded.server))
        for path in ("rollouts", "logs", "timeline"):
            page.goto(recorded.address(path, recorded.hostile))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            if path != "timeline":
                expect(page.get_by_role("main").get_by_text("onerror=alert(1)").first).to_be_visible()
            assert page.locator("main img, main script, main b > b").count() == 0
            assert severe_findings(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} scrolls sideways"
        assert watched.errors == []
