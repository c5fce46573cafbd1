"""The schedule of a run in a real browser: the odd step found, its grid read, its proof and its idle time told."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, expect

from orchestrator.contracts.messages import StepMessage
from server.client.recording.plain_schedule import plain_schedule
from tests.server.factories import padded, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.test_external import bare_step, external, post
from tests.web.browser import severe_findings
from tests.web.recorded_detail import HOSTILE
from tests.web.recorded_run import recorded_step
from trainer.contracts.certificate import Certificate

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


def related_step(step: int, *, name: str = "", **changes: object) -> StepMessage:
    """A step of twelve samples on two ranks: three to a rollout, two rollouts to a group."""
    message = step_message(step, lengths=[9, 30, 12, 25, 17, 40, 8, 33, 21, 14, 28, 19], **changes)
    assert message.schedule is not None
    told = message.schedule.samples
    names = {
        "sample_id": tuple(f"{name[:150]}{i}" for i in range(told.size)),
        "rollout_id": tuple(f"{name[:150]}r{i // 3}" for i in range(told.size)),
        "group_id": tuple(f"{name[:150]}g{i // 6}" for i in range(told.size)),
    }
    certificate = Certificate(
        loss_aggregation=message.schedule.loss_aggregation,
        sample_ids=names["sample_id"],
        weights=tuple(map(Fraction, told.weight)),
    )
    schedule = message.schedule.model_copy(
        update={"samples": told.model_copy(update=names), "certificate_sha256": certificate.sha256}
    )
    return message.model_copy(update={"schedule": schedule, "num_rollouts": 4, "num_prompts": 2})


def show(server: LiveServer, page: Page, *steps: StepMessage, search: str = "", **launch: object) -> LaunchedRun:
    run = server.launch(**launch)
    for step in steps:
        answer = server.record(run, step)
        assert answer.status_code == 200, answer.text
    page.goto(f"{server.url}/runs/{run.id}/schedule{search}")
    expect(page.get_by_role("grid", name=re.compile("^Schedule of step"))).to_be_visible()
    return run


def box_of(one: Locator) -> FloatRect:
    box = one.bounding_box()
    assert box is not None
    return box


def rings(page: Page) -> list[int]:
    """The samples that are lit as one rollout."""
    lit = page.locator("[data-sample]").evaluate_all(
        "all => all.filter((one) => getComputedStyle(one).outlineStyle !== 'none').map((one) => +one.dataset.sample)"
    )
    return sorted(lit)


def test_the_samples_of_a_rollout_are_lit_together_by_pointer_and_by_key(server: LiveServer, page: Page) -> None:
    show(server, page, related_step(0))
    cell = page.locator("[data-cell='0-0']")
    box = cell.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] - 6)
    expect(page.locator("[data-sample]")).to_have_count(6)
    by_pointer = rings(page)
    assert len(by_pointer) == 3
    assert by_pointer[0] % 3 == 0
    assert by_pointer == list(range(by_pointer[0], by_pointer[0] + 3))
    page.mouse.move(5, 5)
    expect(page.locator("[data-sample]")).to_have_count(0)
    cell.focus()
    page.keyboard.press("End")
    expect(page.locator("[data-sample]")).to_have_count(6)
    at_end = rings(page)
    assert at_end != by_pointer
    page.keyboard.press("Home")
    expect(page.locator("[data-cell='0-0']:focus")).to_have_count(1)
    assert rings(page) == by_pointer
    assert len(at_end) == 3
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/rollouts\?rollout="))


def test_padding_has_a_colour_words_and_an_address(server: LiveServer, page: Page) -> None:
    shape = related_step(0).schedule
    assert shape is not None
    extra = [[0] * len(rank) for rank in shape.micro_batches]
    extra[1][0] = 60
    show(server, page, padded(related_step(0), *extra), search="?colour=padding")
    grid = page.get_by_role("grid")
    chosen = page.get_by_role("group", name="Colour").get_by_role("button", name="Padding")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(
        grid.get_by_role("gridcell", name=re.compile(r"Rank 1, micro-batch 0: .*60.positions of padding"))
    ).to_be_visible()
    expect(page.get_by_text("positions without a token")).to_be_visible()
    fills = [
        grid.locator(f"[data-cell='{cell}'] i").first.evaluate("one => getComputedStyle(one).backgroundColor")
        for cell in ("1-0", "0-0")
    ]
    assert fills[0] != fills[1]
    grid.locator("[data-cell='1-0']").hover()
    expect(page.locator("[aria-hidden=true]").filter(has_text="opens its rollout")).to_contain_text(
        re.compile("Padding, micro-batch60 of")
    )
    expect(page.get_by_role("region", name="What if")).to_contain_text("Coloured by tokens")
    page.get_by_role("group", name="Colour").get_by_role("button", name="Tokens").click()
    expect(page).not_to_have_url(re.compile("colour="))


def test_hostile_names_of_samples_rollouts_and_groups_are_text(server: LiveServer, page: Page) -> None:
    show(server, page, related_step(0, name=HOSTILE * 3))
    before = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    page.locator("[data-cell='0-0']").hover()
    card = page.locator("[aria-hidden=true]").filter(has_text="opens its rollout")
    expect(card).to_contain_text("<img src=x")
    box = card.last.bounding_box()
    assert box is not None
    assert box["width"] < 300
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == before
    assert before[0] <= before[1]
    assert severe_findings(page) == []


def test_another_layout_is_asked_for_by_keys_alone(server: LiveServer, page: Page) -> None:
    show(server, page, related_step(0))
    page.keyboard.press("w")
    chosen = page.get_by_role("group", name="dp").get_by_role("button", name="2", exact=True)
    expect(chosen).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"dp=4\b"))
    what_if = page.get_by_role("region", name="What if")
    expect(what_if).to_contain_text("dp 4, cp 1")
    expect(what_if.get_by_role("img", name=re.compile("^What if, estimated: dp 4"))).to_be_visible()
    slider = what_if.get_by_role("slider", name="token_cap")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"token_cap=45\b"))
    expect(what_if).to_contain_text("cap 45")
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile("token_cap"))
    expect(page.get_by_role("link", name="Clone run with this layout")).to_have_attribute("href", re.compile(r"dp=4\b"))


def test_the_most_idle_step_is_looked_for_in_the_phase_of_the_reader(server: LiveServer, page: Page) -> None:
    idle = {1: 0.9, 2: 0.8, 6: 0.5, 8: 0.4}
    steps = [
        related_step(step, phase="warm_start" if step < 4 else "rl", measured_idle_frac=idle.get(step, 0.1))
        for step in range(10)
    ]
    warm_start = {
        "type": "sft",
        "max_steps": 4,
        "until_reward": 0.5,
        "batch": {"type": "fixed", "global_batch_size": 8},
    }
    show(server, page, *steps, name="warmed-up", warm_start=warm_start)
    where = page.get_by_role("group", name="Find in")
    expect(where.get_by_role("button", name="RL steps")).to_have_attribute("aria-pressed", "true")
    label = page.locator("span", has_text=re.compile("^warm start$"))
    expect(label).to_be_visible()
    most = page.get_by_role("button", name="Most idle")
    most.click()
    expect(page.get_by_role("heading", name="Step 6", exact=True)).to_be_visible()
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Step 8", exact=True)).to_be_visible()
    expect(most).to_have_attribute("aria-pressed", "true")
    page.goto(re.sub(r"step=\d+", "step=3", page.url))
    expect(where.get_by_role("button", name="Warm start")).to_have_attribute("aria-pressed", "true")
    most.click()
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    words, plate = (box_of(one) for one in (label, page.locator("i > span", has_text=re.compile("^1$"))))
    assert words["y"] + words["height"] <= plate["y"], "the tag of the step covers the name of the phase"


def test_a_reader_of_rl_steps_who_asks_for_all_is_led_to_the_worst_of_the_run(server: LiveServer, page: Page) -> None:
    warm_start = {
        "type": "sft",
        "max_steps": 2,
        "until_reward": 0.5,
        "batch": {"type": "fixed", "global_batch_size": 8},
    }
    idle = {1: 0.9, 4: 0.5}
    steps = [
        related_step(step, phase="warm_start" if step < 2 else "rl", measured_idle_frac=idle.get(step, 0.1))
        for step in range(6)
    ]
    show(server, page, *steps, name="warmed-worse", warm_start=warm_start)
    where = page.get_by_role("group", name="Find in")
    where.get_by_role("button", name="All steps").click()
    expect(page).to_have_url(re.compile("find=all"))
    page.get_by_role("button", name="Most idle").click()
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    page.reload()
    expect(where.get_by_role("button", name="All steps")).to_have_attribute("aria-pressed", "true")


def test_the_cause_of_idle_time_and_another_layout_are_three_clicks_away(server: LiveServer, page: Page) -> None:
    """From a run's overview: which sample made the ranks wait longest, and what dp=4 would have cost."""
    run = server.launch(name="asked")
    lengths = [[10, 12, 9, 11] * 4, [200, *[10] * 12], [9, 8, 12, 10] * 4]
    for step, of_step in enumerate(lengths):
        message = step_message(step, lengths=of_step, measured_idle_frac=0.7 if step == 1 else 0.02)
        assert server.record(run, message).status_code == 200
    page.goto(f"{server.url}/runs/{run.id}")
    page.get_by_role("link", name="Schedule", exact=True).click()
    page.get_by_role("button", name="Most idle").click()
    expect(page.get_by_role("status").filter(has_text="Sample 0 alone sets the length")).to_be_visible()
    page.get_by_role("button", name="Sample 0, show it in the grid").first.click()
    expect(page).to_have_url(re.compile(r"sample=0\b"))
    assert rings(page) == [0]
    expect(page.get_by_role("link", name="Its rollout")).to_have_attribute("href", re.compile("rollout=r1.0"))
    page.get_by_role("group", name="dp").get_by_role("button", name="4", exact=True).click()
    expect(page.get_by_role("region", name="What if")).to_contain_text("dp 4, cp 1 assumes 2\u00a0more devices")


def test_the_card_of_a_chosen_sample_is_closed_by_key_click_and_button_and_hides_no_control(
    server: LiveServer, page: Page
) -> None:
    message = step_message(0, lengths=[200, *[10] * 12], measured_idle_frac=0.7)
    show(server, page, message, name="held")
    name = page.get_by_role("button", name="Sample 0, show it in the grid").first
    card = page.get_by_role("group", name="Sample 0")
    colours = page.get_by_role("group", name="Colour")

    def open_card() -> None:
        name.click()
        expect(card).to_be_visible()
        expect(page).to_have_url(re.compile(r"step=0&sample=0\b"))

    def is_closed() -> None:
        expect(card).to_have_count(0)
        expect(page).not_to_have_url(re.compile("sample="))

    open_card()
    page.evaluate("scrollTo(0, 120)")
    lane = box_of(page.locator("[data-cell='0-0']"))
    figures = box_of(page.get_by_role("columnheader", name="Tokens"))
    at = box_of(card)
    assert at["y"] >= lane["y"] + lane["height"]
    assert at["x"] + at["width"] <= figures["x"] + 1
    assert box_of(colours)["y"] + box_of(colours)["height"] < at["y"]
    expect(card.get_by_role("link", name="Open the rollout")).to_have_attribute("href", re.compile("rollout="))
    page.keyboard.press("Escape")
    is_closed()
    open_card()
    page.get_by_role("slider").first.focus()
    page.keyboard.press("Escape")
    is_closed()
    open_card()
    page.get_by_role("heading", name="Step 0", exact=True).click()
    is_closed()
    open_card()
    name.click()
    is_closed()
    open_card()
    page.mouse.click(lane["x"] + 6, box_of(page.locator("[data-cell='0-0']"))["y"] + 24)
    is_closed()
    expect(page.locator("[data-sample]")).to_have_count(0)
    open_card()
    card.get_by_role("button", name="Close the card").click()
    is_closed()
    open_card()
    colours.get_by_role("button", name="Cost").click()
    is_closed()
    expect(page).to_have_url(re.compile("colour=cost"))
    open_card()
    assert severe_findings(page) == []
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page).not_to_have_url(re.compile("schedule"))


def test_enter_is_promised_where_the_grid_has_the_focus_and_escape_puts_the_card_away(
    server: LiveServer, page: Page
) -> None:
    show(server, page, related_step(0), name="promised")
    cell = page.locator("[data-cell='0-0']")
    card = page.locator("[aria-hidden=true]").filter(has_text="opens its rollout")
    cell.hover()
    expect(card).to_contain_text("A double click opens its rollout")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    cell.focus()
    page.keyboard.press("End")
    expect(card).to_contain_text("Enter or a double click opens its rollout")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)


@pytest.mark.parametrize("count", [500, 900], ids=["as elements", "on a canvas"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_samples_show_their_own_colour(
    server: LiveServer, page: Page, count: int, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    show(server, page, step_message(0, lengths=[1] * count), name="narrow")
    cell = page.locator("[data-cell='0-0']")
    samples = int(re.findall(r"(\d+) samples", cell.get_attribute("aria-label") or "")[0])
    at = box_of(cell)
    assert at["width"] / samples < 4
    page.mouse.move(5, 5)
    shot = page.screenshot(
        clip={"x": at["x"] + 4, "y": at["y"] + at["height"] / 2, "width": at["width"] - 10, "height": 1}
    )
    pixels = Image.open(io.BytesIO(shot)).convert("RGB")
    colours = {colour for _, colour in pixels.getcolors() or []}
    assert len(colours) == 1, "all samples are alike: one colour, without stripes"
    assert colours.isdisjoint({(255, 255, 255), (0x14, 0x18, 0x1F)}), "the lane is painted"


def test_a_grid_of_512_ranks_holds_the_rows_in_view_and_keys_reach_the_others(server: LiveServer, page: Page) -> None:
    num_ranks, num_micro_batches = 512, 32
    run = external(server, name="wide")
    # The later its number the earlier a rank ends.
    lengths = [1000 - rank for rank in range(num_ranks) for _ in range(num_micro_batches)]
    ranks = [[[rank * num_micro_batches + k] for k in range(num_micro_batches)] for rank in range(num_ranks)]
    schedule = plain_schedule(ranks, num_tokens=lengths, step=0, token_cap=1000)
    step = bare_step(0, global_batch_size=len(lengths), schedule=schedule.model_dump(mode="json"))
    answer = post(server, run, step)
    assert answer.status_code == 200, answer.text
    page.goto(f"{server.url}/runs/{run.id}/schedule")
    grid = page.get_by_role("grid", name="Schedule of step 0")
    expect(grid).to_have_attribute("aria-rowcount", str(num_ranks + 1))
    expect(grid.get_by_role("gridcell", name="Rank 0, micro-batch 0: 1,000 tokens, 1 sample")).to_be_visible()
    assert 20 < grid.get_by_role("row").count() < 120
    assert grid.locator("*").count() < 5000
    grid.locator("[data-cell='0-0']").focus()
    for _ in range(40):
        page.keyboard.press("ArrowDown")
    focused = grid.locator("[data-cell='40-all']:focus")
    expect(focused).to_have_attribute("aria-label", "Rank 40: 32 micro-batches, 30,720 tokens, 32\u00a0samples")
    expect(focused).to_be_in_viewport()
    page.keyboard.press("End")
    expect(page.locator("[aria-live=polite]").filter(has_text="rank 40, micro-batch 31")).to_have_count(1)
    expect(grid.locator("[data-sample]")).to_have_count(1)
    page.mouse.wheel(0, 20_000)
    expect(grid.get_by_role("gridcell", name="Rank 511, micro-batch 0: 489 tokens, 1 sample")).to_be_in_viewport()
    expect(focused).to_have_count(1)  # its row is kept
    assert severe_findings(page) == []
