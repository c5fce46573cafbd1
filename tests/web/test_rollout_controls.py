"""What narrows, shades and draws the rollouts of a run, in a real browser. One server is shared: tests only look."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from orchestrator.contracts.rollout_messages import GroupMessage, RolloutMessage
from tests.server.factories import step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import group_message, iteration_message, post, rollout_message
from tests.web.browser import Watched
from tests.web.conftest import signed_in

pytestmark = pytest.mark.stack

REWARDS = (0.25, 1.0, 0.0, 0.75)
"""Of the group that was trained, in the order in which they are recorded."""
NUM_TOKENS = (40, 12, 60, 25)
PIECES = (
    ("I", " guess", " 41"),
    ("Six", " sevens", " are"),
    ("A", " light", "house"),
    ("Forty", "-", "two"),
)
CLEAR = "rgba(0, 0, 0, 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run of one iteration: a group that was trained, two that were filtered, one that was dropped."""

    server: LiveServer
    run: LaunchedRun

    def address(self, page: str) -> str:
        return f"{self.server.url}/runs/{self.run.id}/{page}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with running_server(tmp_path_factory.mktemp("controls") / "home") as server:
        run = server.launch(name="controlled")
        assert server.record(run, step_message(0, lengths=NUM_TOKENS)).status_code == 200
        groups = [
            group_message("alpha", [_trained(k) for k in range(4)]),
            _left_out("beta", 4, fate="filtered", reason="zero_variance", reward=1.0),
            _left_out("gamma", 4, fate="filtered", reason="overlong", reward=0.0, truncated=True),
            _left_out("delta", 2, fate="dropped", reason="remainder", reward=0.5),
        ]
        assert post(server, run, "rollouts", iteration_message(0, groups)).status_code == 200
        yield Recorded(server=server, run=run)


def _trained(k: int) -> RolloutMessage:
    return rollout_message(
        f"r0.{k}",
        text="".join(PIECES[k]),
        pieces=PIECES[k],
        log_probs=(-0.01, -0.7, -3.0),
        trainer_log_probs=(),
        num_tokens=NUM_TOKENS[k],
        reward=REWARDS[k],
        advantage=1.0 if REWARDS[k] > 0.5 else -1.0,
        truncated=k == 2,
    )


def _left_out(name: str, count: int, **changes: object) -> GroupMessage:
    told = {"step": None, "advantage": None} | changes
    return group_message(name, [rollout_message(f"{name} {k}", **told) for k in range(count)])


@pytest.fixture
def page(watched: Watched, recorded: Recorded) -> Page:
    return signed_in(watched, recorded.server)


def lists(page: Page, *groups: str) -> None:
    """Exactly these groups are listed, each told by a part of its row."""
    rows = page.get_by_role("region", name="Groups").get_by_role("button")
    expect(rows).to_have_text([re.compile(group) for group in groups])


def table(page: Page, group: str) -> Locator:
    """The rows of a group's rollouts, without the head."""
    return page.get_by_role("region", name=f"Group {group}").locator("tbody").get_by_role("row")


def reads(page: Page, k: int) -> None:
    """The response of the trained group's rollout of this number is shown, word for word."""
    rollout = page.get_by_role("region", name=f"Rollout {k}", exact=True)
    expect(rollout.get_by_role("group", name=re.compile("^Response"))).to_have_text("".join(PIECES[k]))
    expect(table(page, "alpha").nth(k)).to_have_attribute("aria-current", "true")


def test_a_range_of_rewards_leaves_the_rollouts_within_it(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    lists(page, "alpha", "beta", "gamma", "delta")
    least = page.get_by_role("textbox", name="Least reward")
    highest = page.get_by_role("textbox", name="Highest reward")
    least.fill("0.5")
    lists(page, "alpha.*2 of 4", "beta", "delta")
    expect(table(page, "alpha")).to_have_text([re.compile(r"1\.000"), re.compile(r"0\.750")])
    highest.fill("0.8")
    lists(page, "alpha.*1 of 4", "delta")
    expect(table(page, "alpha")).to_have_text([re.compile(r"0\.750")])
    page.reload()
    expect(least).to_have_value("0.5")
    expect(highest).to_have_value("0.8")
    least.fill("")
    lists(page, "alpha.*3 of 4", "gamma", "delta")
    highest.fill("-1")
    expect(page.get_by_role("heading", name="No rollout matches")).to_be_visible()
    page.get_by_role("button", name="Clear filter").click()
    lists(page, "alpha", "beta", "gamma", "delta")
    expect(table(page, "alpha")).to_have_count(4)


def test_truncated_leaves_the_responses_that_ended_by_length(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    lists(page, "alpha", "beta", "gamma", "delta")
    toggle = page.get_by_role("button", name="Truncated", exact=True)
    toggle.click()
    lists(page, "alpha.*1 of 4", "gamma")
    expect(table(page, "alpha")).to_have_text([re.compile(f"cut{NUM_TOKENS[2]}")])
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(table(page, "gamma")).to_have_count(4)
    expect(page.get_by_role("region", name="Rollout 0")).to_contain_text("truncated")
    toggle.click()
    lists(page, "alpha", "beta", "gamma", "delta")


def test_a_reason_that_the_ledger_leads_to_is_changed_and_taken_away(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("ledger"))
    books = page.get_by_role("region", name="By iteration, table")
    books.get_by_role("link", name="Filtered: zero variance: 4 rollouts").click()
    lists(page, "beta.*filtered: zero variance")
    reason = page.get_by_role("combobox", name="Reason")
    expect(reason).to_have_value("zero_variance")
    reason.select_option("overlong")
    lists(page, "gamma.*filtered: overlong")
    reason.select_option(label="Any reason")
    lists(page, "beta", "gamma")
    page.get_by_role("group", name="Fate").get_by_role("button", name="All").click()
    lists(page, "alpha", "beta", "gamma", "delta")
    reason.select_option("remainder")
    lists(page, "delta.*dropped: remainder")


def test_tokens_are_shaded_by_how_hard_the_step_pushes_them(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts?rollout=r0.1"))
    reads(page, 1)
    pane = page.get_by_role("region", name=re.compile("^Rollout"))
    shades = pane.get_by_role("group", name="Shade")
    has_shades(pane, CLEAR, None, None)
    shades.get_by_role("button", name="Advantage").click()
    expect(pane.get_by_role("img", name="Advantage of 3 tokens")).to_be_visible()
    colours = pane.get_by_title(re.compile("how hard the step pushes this token")).locator("i")
    expect(colours).to_have_count(7)
    scale = [background(colours.nth(i)) for i in range(7)]
    assert len(set(scale)) == 7
    has_shades(pane, CLEAR, scale[5], scale[6])
    pane.locator("[data-token='2']").hover()
    expect(pane).to_contain_text(f"push+{1 - math.exp(-3):.4f}")
    page.keyboard.press("Shift+J")
    reads(page, 2)
    has_shades(pane, CLEAR, scale[1], scale[0])
    shades.get_by_role("button", name="None").click()
    has_shades(pane, CLEAR, CLEAR, CLEAR)
    expect(colours).to_have_count(0)


def has_shades(pane: Locator, *shades: str | None) -> None:
    """The first tokens have these backgrounds; None: any that is not clear."""
    for i, shade in enumerate(shades):
        token = pane.locator(f"[data-token='{i}']")
        if shade is None:
            expect(token).not_to_have_css("background-color", CLEAR)
        else:
            expect(token).to_have_css("background-color", shade)


def background(element: Locator) -> str:
    return str(element.evaluate("element => getComputedStyle(element).backgroundColor"))


def test_what_a_search_finds_is_marked_and_all_else_is_gone(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    lists(page, "alpha", "beta", "gamma", "delta")
    field = page.get_by_role("textbox", name="Search prompts and responses")
    field.fill("LIGHTHOUSE")
    lists(page, "alpha.*1 of 4")
    expect(table(page, "alpha")).to_have_text([re.compile(r"0\.000")])
    response = page.get_by_role("group", name=re.compile("^Response"))
    expect(response).to_have_text("A lighthouse")
    expect(response.get_by_text("A", exact=True)).to_have_css("box-shadow", "none")
    for piece in ("light", "house"):
        expect(response.get_by_text(piece, exact=True)).not_to_have_css("box-shadow", "none")
    field.fill("prompt of beta")
    lists(page, "beta")
    expect(table(page, "beta")).to_have_count(4)
    field.fill("")
    lists(page, "alpha", "beta", "gamma", "delta")


def test_bars_and_dots_stand_where_the_recorded_rewards_are(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    reads(page, 0)
    row = page.get_by_role("region", name="Groups").get_by_role("button").first
    expect(row).to_contain_text(re.compile(r"0\.500±0\.\d{3}"))
    bars = row.get_by_role("img", name="Rewards 0.250, 1.000, 0.000, 0.750")
    heights = [height for _, _, height in boxes(bars.locator("i"))]
    assert [height / heights[0] for height in heights] == pytest.approx(sorted(REWARDS, reverse=True), abs=0.1)
    rows = table(page, "alpha")
    for k, (rank, micro_batch) in enumerate(_places()):
        expect(rows.nth(k)).to_contain_text(f"{REWARDS[k]:.3f}")
        expect(rows.nth(k).get_by_role("cell").last).to_have_text(f"{rank} / {micro_batch}")
    dots = page.get_by_role("img", name=re.compile("^Reward against tokens of 4 rollouts")).locator("i")
    expect(dots).to_have_count(4)
    places = boxes(dots)
    assert shares([-y for _, y, _ in places]) == pytest.approx(shares(REWARDS), abs=0.02)
    assert shares([x for x, _, _ in places]) == pytest.approx(shares([math.log(n) for n in NUM_TOKENS]), abs=0.02)
    dots.nth(2).click()
    reads(page, 2)


def _places() -> list[tuple[int, int]]:
    """Rank and micro-batch of each sample of the step."""
    schedule = step_message(0, lengths=NUM_TOKENS).schedule
    assert schedule is not None
    found = {
        sample: (rank, number)
        for rank, micro_batches in enumerate(schedule.micro_batches)
        for number, samples in enumerate(micro_batches)
        for sample in samples
    }
    return [found[k] for k in range(len(NUM_TOKENS))]


def boxes(elements: Locator) -> list[tuple[float, float, float]]:
    """Centre and height of each, in pixels."""
    found = elements.evaluate_all("""all => all.map((one) => {
      const { left, top, width, height } = one.getBoundingClientRect();
      return [left + width / 2, top + height / 2, height];
    })""")
    return [(x, y, height) for x, y, height in found]


def shares(values: Sequence[float]) -> list[float]:
    """How far each is from the least to the greatest."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def test_what_is_read_stays_when_newer_iterations_come(recorded: Recorded, page: Page) -> None:
    server, run = recorded.server, recorded.server.launch(name="goes on")

    def comes(number: int) -> None:
        assert server.record(run, step_message(number)).status_code == 200
        assert post(server, run, "rollouts", iteration_message(number)).status_code == 200

    comes(0)
    page.goto(f"{server.url}/runs/{run.id}/rollouts")
    page.get_by_text("prompt of g0.0").last.hover()
    comes(1)
    expect(page.get_by_role("button", name="Next iteration")).to_be_enabled()
    expect(page.get_by_text("Iteration 0", exact=True)).to_be_visible()
    read = page.get_by_role("region", name="Group 0")
    expect(read).to_contain_text("prompt of g0.0")
    page.mouse.move(0, 0)
    expect(read).to_contain_text("prompt of g1.0")
    page.get_by_role("button", name="All", exact=True).first.click()
    groups = page.get_by_role("region", name="Groups").get_by_role("button")
    expect(groups).to_have_count(4)
    comes(2)
    expect(groups).to_have_count(6)
    expect(read).to_contain_text("prompt of g1.0")


def test_keys_go_from_rollout_to_rollout_of_a_group_and_end_at_its_ends(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("rollouts"))
    reads(page, 0)
    page.keyboard.press("Shift+K")
    reads(page, 0)
    for k in (1, 2, 3, 3):
        page.keyboard.press("Shift+J")
        reads(page, k)
    page.keyboard.press("Shift+K")
    reads(page, 2)
    page.keyboard.press("j")
    expect(table(page, "beta").first).to_have_attribute("aria-current", "true")
    page.keyboard.press("Shift+J")
    expect(table(page, "beta").nth(1)).to_have_attribute("aria-current", "true")


def test_a_sample_of_the_schedule_leads_to_the_text_of_its_rollout(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.address("schedule"))
    card = page.locator("[aria-hidden=true]").filter(has_text="opens its rollout")
    page.locator("[data-cell='1-0']").focus()
    sample = int(re.findall(r"Sample (\d)", card.inner_text())[0])
    page.keyboard.press("Enter")
    reads(page, sample)
    other = (sample + 1) % 4
    page.goto(recorded.address(f"schedule?step=0&sample={other}"))
    held = page.get_by_role("group", name=f"Sample {other}", exact=True)
    held.get_by_role("link", name="Open the rollout").click()
    reads(page, other)
