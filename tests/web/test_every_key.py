"""The keys of the keyboard's dialog that no other test presses, in a real browser, each with what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched
from tests.web.conftest import see_runs, signed_in
from tests.web.recorded_detail import record_detail
from tests.web.recorded_run import record

pytestmark = pytest.mark.stack

NUM_ITERATIONS = 3
NEWEST_ON_TOP = ("third", "second", "first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    server: LiveServer
    run: LaunchedRun

    def address(self, path: str) -> str:
        return f"{self.server.url}/runs/{self.run.id}/{path}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Three runs; the newest of them has rollouts and timelines."""
    with running_server(tmp_path_factory.mktemp("keys") / "home") as server:
        for name in NEWEST_ON_TOP[:0:-1]:
            record(server, server.launch(name=name), [0])
        run = server.launch(name=NEWEST_ON_TOP[0])
        record_detail(server, run, range(NUM_ITERATIONS))
        yield Recorded(server=server, run=run)


@pytest.fixture
def page(watched: Watched, recorded: Recorded) -> Page:
    return signed_in(watched, recorded.server)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_j_and_k_go_through_the_rows_and_escape_leaves_them(recorded: Recorded, page: Page) -> None:
    see_runs(page, recorded.server)
    links = page.get_by_role("row").get_by_role("link")
    expect(links).to_have_text(list(NEWEST_ON_TOP))
    press(page, "j", "j", "j", "j")
    expect(links.nth(2)).to_be_focused()
    press(page, "k")
    expect(links.nth(1)).to_be_focused()
    press(page, "Escape")
    expect(links.nth(1)).not_to_be_focused()
    press(page, "k")
    expect(links.nth(2)).to_be_focused()


def test_brackets_go_to_the_tab_before_and_the_next_and_stop_at_the_ends(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("timeline"))
    expect(page.get_by_role("region", name=re.compile("^Timeline of step"))).to_be_visible()
    press(page, "[")
    expect(page.get_by_role("heading", name=f"Step {NUM_ITERATIONS - 1}", exact=True)).to_be_visible()
    press(page, "[")
    expect(page.get_by_role("region", name="Batch size and loss", exact=True)).to_be_visible()
    press(page, "[")
    expect(page.get_by_role("navigation", name="Run").locator("[aria-current=page]")).to_have_text("Overview")
    press(page, "]")
    expect(page.get_by_role("heading", name=f"Step {NUM_ITERATIONS - 1}", exact=True)).to_be_visible()


def test_j_and_k_go_through_groups_and_with_shift_through_rollouts(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts?iteration=1"))
    chosen = page.get_by_role("region", name="Groups").locator("[aria-current=true]").locator("[title]").first
    group = page.get_by_role("heading", name=re.compile(r"^Group \d+$"))
    ids = goes_to_another_and_back(page, group, "j", "k")
    expect(chosen).to_have_attribute("title", ids[0])
    shown = page.get_by_role("region", name=re.compile(r"^Rollout \d+$"))
    text = shown.inner_text()
    rollouts = goes_to_another_and_back(page, shown.get_by_role("heading").first, "Shift+J", "Shift+K")
    press(page, "Shift+J")
    expect(shown.get_by_title(rollouts[1], exact=True)).to_be_visible()
    expect(shown).not_to_have_text(text, use_inner_text=True)


def goes_to_another_and_back(page: Page, heading: Locator, there: str, back: str) -> tuple[str, str]:
    """Presses both keys; returns the ids that the heading had before and in between."""
    expect(heading).to_be_visible()
    first = heading.get_attribute("title")
    assert first is not None
    press(page, there)
    expect(heading).not_to_have_attribute("title", first)
    other = heading.get_attribute("title")
    assert other is not None
    press(page, back)
    expect(heading).to_have_attribute("title", first)
    return first, other


def test_b_o_and_y_turn_what_the_charts_draw_on_and_off(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address(""))
    expect(page.get_by_text(f"Steps 0 to {NUM_ITERATIONS - 1}", exact=True)).to_be_visible()
    for key, name, begins in (("b", "Bands", "true"), ("o", "Old attempts", "true"), ("y", "Log y", "false")):
        toggle = page.get_by_role("button", name=name, exact=True)
        ends = "false" if begins == "true" else "true"
        expect(toggle).to_have_attribute("aria-pressed", begins)
        press(page, key)
        expect(toggle).to_have_attribute("aria-pressed", ends)
        press(page, key)
        expect(toggle).to_have_attribute("aria-pressed", begins)


def test_g_and_a_letter_go_to_the_pages_that_are_no_runs(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("config"))
    expect(page.get_by_role("region", name="optimizer")).to_be_visible()
    press(page, "g", "n")
    expect(page.get_by_role("button", name="Launch run")).to_be_visible()
    page.get_by_role("heading", name="New run", level=1).click()
    press(page, "g", "c")
    expect(page.get_by_role("heading", name="Nothing to compare")).to_be_visible()
    press(page, "g", "r")
    expect(page.get_by_role("row")).to_have_count(1 + len(NEWEST_ON_TOP))


def test_arrows_go_from_step_to_step_and_from_iteration_to_iteration(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("timeline"))
    expect(page.get_by_role("region", name="Timeline of step 2")).to_be_visible()
    press(page, "ArrowLeft")
    expect(page.get_by_role("region", name="Timeline of step 1")).to_be_visible()
    press(page, "ArrowRight")
    expect(page.get_by_role("region", name="Timeline of step 2")).to_be_visible()
    page.goto(recorded.address("rollouts?iteration=2"))
    groups = page.get_by_role("region", name="Groups")
    expect(groups.get_by_title("g2.0", exact=True)).to_be_visible()
    # Which iterations there are is asked for apart from their groups.
    expect(page.get_by_role("button", name="Iteration before")).to_be_enabled()
    press(page, "ArrowLeft")
    expect(groups.get_by_title("g1.0", exact=True)).to_be_visible()
    expect(groups.get_by_title("g2.0", exact=True)).to_have_count(0)


def test_a_text_that_is_typed_is_no_key(recorded: Recorded, page: Page) -> None:
    see_runs(page, recorded.server)
    page.get_by_role("textbox", name="Filter runs").focus()
    page.keyboard.type("dirt")
    expect(page.get_by_role("row")).to_have_count(0)
    assert page.evaluate("document.documentElement.dataset.theme") is None
    page.get_by_role("textbox", name="Filter runs").fill("ir")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["third", "first"])


def test_single_letter_keys_are_switched_off_and_on_again(recorded: Recorded, page: Page) -> None:
    see_runs(page, recorded.server)
    links = page.get_by_role("row").get_by_role("link")
    expect(links).to_have_count(len(NEWEST_ON_TOP))
    press(page, "?")
    keys = page.get_by_role("dialog", name="Keyboard")
    keys.get_by_role("checkbox", name="Single-letter keys").uncheck()
    keys.get_by_role("button", name="Close").click()
    page.reload()
    expect(links).to_have_count(len(NEWEST_ON_TOP))
    press(page, "d", "j", "?", "g", "n")
    expect(keys).to_have_count(0)
    expect(page.get_by_role("link").and_(page.locator(":focus"))).to_have_count(0)
    assert page.evaluate("document.documentElement.dataset.theme") is None
    page.get_by_role("button", name="Keyboard shortcuts").click()
    keys.get_by_role("checkbox", name="Single-letter keys").check()
    press(page, "Escape")
    expect(keys).to_have_count(0)
    press(page, "j")
    expect(links.first).to_be_focused()
