"""The controls of a run's schedule in a real browser: what they show is what was recorded, or what the API answers."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from orchestrator.contracts.messages import ScheduleMessage, StepMessage
from tests.server.factories import step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import Watched
from tests.web.conftest import signed_in

pytestmark = pytest.mark.stack

NUM_STEPS, SMALL, OVER, TOLD, STAGED = 8, 2, 4, 6, 7
"""Steps that are not as the others: of few samples, with a long one, with all that colours show, on a pipeline."""
USUAL = (9, 30, 12, 25, 17, 40, 8, 33, 21, 14, 28, 19)
LENGTHS = {SMALL: USUAL[:4], OVER: (90, *USUAL, 5, 6), STAGED: (90, *USUAL, 5, 6)}
VERSION, STALE_BY, WAITED = 9, 4, 2
LANES = ("Batch size", "Idle", "Over cap", "Dummies", "Dropped")
_PAINTED = """([canvas, count, wanted]) => {
  if (canvas.width === 0) return false;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const steps = [];
  for (let step = 0; step < count; step += 1) {
    const { data } = copy.getImageData(Math.floor(((step + 0.5) / count) * canvas.width), 0, 1, canvas.height);
    if (data.some((value, at) => at % 4 === 3 && value > 0)) steps.push(step);
  }
  return JSON.stringify(steps) === JSON.stringify(wanted);
}"""
"""Whether something is painted in the middle of these steps' places, and of no others."""


def recorded(step: int) -> StepMessage:
    message = step_message(step, lengths=LENGTHS.get(step, USUAL))
    if step == TOLD:
        return _with_all_that_colours_show(message)
    if step == OVER:
        cells = schedule_of(message).micro_batches
        # What is skipped takes no time, and stands where its rank waits.
        return _changed(message, measured_s=tuple(tuple(0.01 * (len(cell) > 0) for cell in rank) for rank in cells))
    if step == STAGED:
        return _changed(message, pp=2, vpp=2, skips_dummies=False)
    return message


def _changed(message: StepMessage, **changes: object) -> StepMessage:
    return message.model_copy(update={"schedule": schedule_of(message).model_copy(update=changes)})


def _with_all_that_colours_show(message: StepMessage) -> StepMessage:
    schedule = schedule_of(message)
    size = schedule.samples.size
    samples = schedule.samples.model_copy(
        update={
            "reward": tuple(float(i % 2) for i in range(size)),
            "policy_version": tuple(VERSION - STALE_BY * (i < size // 3) for i in range(size)),
            "age": tuple(WAITED * (i % 3 == 0) for i in range(size)),
        }
    )
    # None of them is what its cost would say.
    seconds = tuple(
        tuple(0.01 * (1 + (2 * rank + 3 * k) % 5) for k in range(len(cells)))
        for rank, cells in enumerate(schedule.micro_batches)
    )
    told = message.model_copy(update={"policy_version": VERSION})
    return _changed(told, samples=samples, measured_s=seconds)


def schedule_of(message: StepMessage) -> ScheduleMessage:
    assert message.schedule is not None
    return message.schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    server: LiveServer
    run: LaunchedRun

    def address(self, step: int) -> str:
        return f"{self.server.url}/runs/{self.run.id}/schedule?step={step}"

    def ask(self, step: int, **asked: object) -> Any:
        """What the API says of the step under other settings."""
        answer = self.server.http.post(f"/api/v1/runs/{self.run.id}/steps/{step}/whatif", json=asked)
        return answer.json()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with running_server(tmp_path_factory.mktemp("controls") / "home") as server:
        run = server.launch(name="controlled")
        answer = server.record(run, *map(recorded, range(NUM_STEPS)))
        assert answer.status_code == 200, answer.text
        yield Shown(server=server, run=run)


@pytest.fixture
def page(watched: Watched, shown: Shown) -> Page:
    return signed_in(watched, shown.server)


def show(page: Page, shown: Shown, step: int) -> None:
    page.goto(shown.address(step))
    expect(page.get_by_role("grid", name=f"Schedule of step {step}")).to_be_visible()


def strip(page: Page) -> Locator:
    return page.get_by_role("region", name="All steps")


def lane(page: Page, name: str) -> Locator:
    """The canvas of a lane of the strip."""
    return strip(page).locator("canvas").nth(LANES.index(name))


def value(page: Page, name: str) -> Locator:
    """The words of a lane: its name, and what the step that is shown has of it."""
    return lane(page, name).locator("xpath=../..")


def at_step(page: Page, step: int) -> None:
    expect(page.get_by_role("heading", name=f"Step {step}", exact=True)).to_be_visible()
    expect(page.get_by_role("grid", name=f"Schedule of step {step}")).to_be_visible()
    size = len(LENGTHS.get(step, USUAL))
    expect(value(page, "Batch size")).to_have_text(f"Batch size{size}")


def test_the_strip_paints_what_is_odd_where_it_was_and_a_click_goes_there(shown: Shown, page: Page) -> None:
    show(page, shown, 0)
    steps = [recorded(step) for step in range(NUM_STEPS)]
    wanted = {
        "Batch size": list(range(NUM_STEPS)),
        "Over cap": [step.step for step in steps if step.num_over_cap],
        "Dummies": [step.step for step in steps if step.num_dummies],
        "Dropped": [],
    }
    assert wanted["Over cap"] == [OVER, STAGED]
    assert OVER in wanted["Dummies"]
    assert 0 not in wanted["Dummies"]
    for name, painted in wanted.items():
        page.wait_for_function(_PAINTED, arg=[lane(page, name).element_handle(), NUM_STEPS, painted])
    for name, step in (("Over cap", OVER), ("Batch size", SMALL), ("Dummies", 1), ("Idle", NUM_STEPS - 1)):
        box = lane(page, name).bounding_box()
        assert box is not None
        lane(page, name).click(position={"x": (step + 0.5) / NUM_STEPS * box["width"], "y": box["height"] / 2})
        at_step(page, step)
        expect(value(page, "Over cap")).to_have_text(f"Over cap{steps[step].num_over_cap}")
        expect(value(page, "Dummies")).to_have_text(f"Dummies{steps[step].num_dummies}")


def test_buttons_find_the_step_over_the_cap_and_the_smallest_ones_in_turn(shown: Shown, page: Page) -> None:
    show(page, shown, 0)
    expect(page.get_by_text("over cap", exact=True)).to_have_count(0)
    over = page.get_by_role("button", name="Over cap", exact=True)
    over.click()
    at_step(page, OVER)
    expect(over).to_have_attribute("aria-pressed", "true")
    grid = page.get_by_role("grid")
    cell = grid.get_by_role("gridcell", name=re.compile("90 tokens, 1 sample, over the cap of 64"))
    expect(cell).to_be_visible()
    expect(grid.get_by_role("gridcell", name=re.compile("dummy, weight 0, skipped"))).to_have_count(2)
    expect(page.get_by_text("over cap", exact=True)).to_be_visible()
    borders = [
        one.locator("span").first.evaluate("one => getComputedStyle(one).borderTopColor")
        for one in (cell, grid.locator("[data-cell='1-0']"))
    ]
    assert borders[0] != borders[1]
    over.click()
    at_step(page, STAGED)  # as many of its samples are too long
    smallest = page.get_by_role("button", name="Smallest batch")
    smallest.click()
    at_step(page, SMALL)
    expect(over).to_have_attribute("aria-pressed", "false")
    smallest.click()
    at_step(page, 0)  # the first of the usual ones, which are larger
    expect(page.get_by_role("button", name="Most dropped")).to_be_disabled()


def widths(page: Page, schedule: ScheduleMessage) -> list[list[float]]:
    """Pixels of each micro-batch that holds samples."""
    boxes = [
        [page.locator(f"[data-cell='{rank}-{k}']").bounding_box() for k, cell in enumerate(cells) if cell]
        for rank, cells in enumerate(schedule.micro_batches)
    ]
    return [[box["width"] for box in rank if box is not None] for rank in boxes]


def of_work(schedule: ScheduleMessage, values: tuple[tuple[float, ...], ...]) -> list[list[float]]:
    return [
        [value for value, cell in zip(own, cells, strict=True) if cell]
        for own, cells in zip(values, schedule.micro_batches, strict=True)
    ]


def test_boxes_are_as_wide_as_their_seconds_or_their_predicted_cost(shown: Shown, page: Page) -> None:
    show(page, shown, TOLD)
    schedule = schedule_of(recorded(TOLD))
    choices = page.get_by_role("group", name="Width")
    seen = []
    for name, values in (("Measured", schedule.measured_s), ("Predicted", schedule.predicted_cost)):
        choices.get_by_role("button", name=name).click()
        expect(choices.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        drawn = widths(page, schedule)
        lane_px = max(map(sum, drawn))
        scale = lane_px / max(map(sum, values))
        wanted = [[value * scale for value in rank] for rank in of_work(schedule, values)]
        assert [len(rank) for rank in drawn] == [len(rank) for rank in wanted]
        for own, asked in zip(drawn, wanted, strict=True):
            assert own == pytest.approx(asked, abs=1.5)
        seen.append(drawn)
    assert max(abs(a - b) for a, b in zip(seen[0][0], seen[1][0], strict=True)) > 20


def by_fill(page: Page, schedule: ScheduleMessage) -> set[frozenset[int]]:
    """The samples that have one colour, of each colour."""
    found: dict[str, set[int]] = defaultdict(set)
    for rank, cells in enumerate(schedule.micro_batches):
        for k, cell in enumerate(cells):
            fills = page.locator(f"[data-cell='{rank}-{k}'] i").evaluate_all(
                "all => all.map((one) => getComputedStyle(one).backgroundColor)"
            )
            longest_first = sorted(cell, key=lambda i: (-schedule.sample_cost[i], i))
            for sample, fill in zip(longest_first, fills, strict=True):
                found[fill].add(sample)
    return {frozenset(samples) for samples in found.values()}


def _seventh_of_the_costliest(schedule: ScheduleMessage, i: int) -> float:
    return min(6, int(schedule.sample_cost[i] / max(schedule.sample_cost) * 7))


COLOURS: dict[str, tuple[Callable[[ScheduleMessage, int], float | None], str]] = {
    "Cost": (_seventh_of_the_costliest, "the costliest sample"),
    "Reward": (lambda schedule, i: schedule.samples.reward[i], "below its group’s mean"),
    "Age": (lambda schedule, i: schedule.samples.policy_version[i], f"{STALE_BY} updates"),
    "Carried": (lambda schedule, i: schedule.samples.age[i], f"waited {WAITED} iterations"),
}


@pytest.mark.parametrize("name", COLOURS)
def test_samples_that_differ_in_what_is_chosen_differ_in_colour(shown: Shown, page: Page, name: str) -> None:
    value_of, words = COLOURS[name]
    show(page, shown, TOLD)
    schedule = schedule_of(recorded(TOLD))
    alike: dict[float | None, set[int]] = defaultdict(set)
    for i in range(schedule.samples.size):
        alike[value_of(schedule, i)].add(i)
    button = page.get_by_role("group", name="Colour").get_by_role("button", name=name)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text(words)).to_be_visible()
    assert by_fill(page, schedule) == {frozenset(samples) for samples in alike.values()}
    assert len(alike) > 1


@pytest.mark.parametrize("step", [0, OVER])
def test_the_sum_of_the_weights_is_told_as_it_was_added_with_its_explanation(
    shown: Shown, page: Page, step: int
) -> None:
    show(page, shown, step)
    schedule = schedule_of(recorded(step))
    size = schedule.samples.size
    assert sum(map(Fraction, schedule.samples.weight)) == 1
    proof = page.get_by_role("region", name="Weights sum to exactly 1")
    expect(proof.get_by_role("term")).to_have_text(["loss_aggregation", f"{size} samples, each", "Sum, as a fraction"])
    expect(proof.get_by_role("definition")).to_have_text(["rollout_mean", f"1/{size}", f"{size}/{size}"])
    digest = schedule.certificate_sha256
    expect(proof).to_contain_text(f"sha256 {digest[:6]}…{digest[-6:]}")
    explanation = proof.get_by_text("The server adds them again when the step arrives.")
    expect(explanation).to_be_hidden()
    proof.get_by_text("How this is proved").click()
    expect(explanation).to_be_visible()


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)} ms"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%".replace("-", "−")


def deltas(answer: Any) -> list[str]:
    """What the panel says of an answer of the API, in its order."""
    asked, ran, measured = answer["asked_figures"], answer["ran_figures"], answer["ran_measured"]
    change = answer["change"]["makespan_frac"]
    sign = "+" if change > 0 else ""
    counts = [f"{asked[name]} from {ran[name]}" for name in ("num_microbatches", "num_dummies", "num_over_cap")]
    largest = [
        math.ceil(figures["max_micro_batch_tokens"] / answer[side]["cp"])
        for side, figures in (("asked", asked), ("ran", ran))
    ]
    return [
        f"{_milliseconds(asked['predicted_s'])} from {_milliseconds(ran['predicted_s'])} {sign}{_percent(change)} "
        f"measured: {_milliseconds(measured['makespan_s'])}",
        f"{_milliseconds(_on_all(asked, answer['asked']))} from {_milliseconds(_on_all(ran, answer['ran']))}",
        f"{_percent(asked['predicted_idle_frac'])} from {_percent(ran['predicted_idle_frac'])} "
        f"measured: {_percent(measured['idle_frac'])}",
        f"{_percent(asked['idle_bound_frac'])} from {_percent(ran['idle_bound_frac'])}",
        *counts,
        f"{largest[0]} from {largest[1]}",
    ]


def _on_all(figures: dict[str, Any], layout: dict[str, Any]) -> float:
    """Seconds of all devices together."""
    return float(figures["predicted_s"]) * int(layout["dp"]) * int(layout["cp"]) * int(layout["pp"])


def test_the_step_that_is_read_or_asked_about_stays_while_newer_ones_come(shown: Shown, page: Page) -> None:
    run = shown.server.launch(name="goes on")
    assert shown.server.record(run, recorded(0)).status_code == 200
    page.goto(f"{shown.server.url}/runs/{run.id}/schedule")
    page.get_by_role("grid").get_by_role("gridcell", name=re.compile("^Rank 0, micro-batch 0")).hover()
    assert shown.server.record(run, recorded(1)).status_code == 200
    expect(page.get_by_text("waits while it is read")).to_be_visible()
    expect(page.get_by_role("grid", name="Schedule of step 0")).to_be_visible()
    page.mouse.move(0, 0)
    expect(page.get_by_role("grid", name="Schedule of step 1")).to_be_visible()
    page.get_by_role("group", name="balance").get_by_role("button", name="none").click()
    expect(page).to_have_url(re.compile("step=1&"))
    assert shown.server.record(run, recorded(2)).status_code == 200
    expect(page.get_by_role("button", name="Next step")).to_be_enabled()
    expect(page.get_by_role("grid", name="Schedule of step 1")).to_be_visible()


def with_any_space(text: str) -> re.Pattern[str]:
    return re.compile(r"\s*".join(map(re.escape, text.split())) + r"\s*$")


ASKED: dict[str, tuple[str, dict[str, object], str]] = {
    "dp": ("4", {"dp": 4}, "dp 4, cp 1, cap 64"),
    "cp": ("2", {"cp": 2}, "dp 2, cp 2, cap 2 × 64"),
    "pp": ("2", {"pp": 2}, "dp 2, cp 1, pp 2, cap 64"),
    "packer": ("in order", {"packer": "first_fit"}, "dp 2, cp 1, cap 64"),
    "balance": ("none", {"balance": "none"}, "dp 2, cp 1, cap 64"),
    "barrier": ("micro_batch", {"barrier": "micro_batch"}, "dp 2, cp 1, cap 64"),
}


@pytest.mark.parametrize("control", ASKED)
def test_each_setting_changes_what_is_predicted_as_the_api_says(shown: Shown, page: Page, control: str) -> None:
    label, request, geometry = ASKED[control]
    answer = shown.ask(OVER, **request)
    assert answer["asked_figures"] != answer["ran_figures"]
    show(page, shown, OVER)
    panel = page.get_by_role("region", name="What if")
    values = panel.get_by_role("definition")
    expect(values).to_have_text(["–"] * 8)
    group = panel.get_by_role("group", name=control, exact=True)
    ran = group.get_by_role("button", pressed=True)
    was = ran.inner_text()
    group.get_by_role("button", name=label, exact=True).click()
    expect(values).to_have_text([with_any_space(text) for text in deltas(answer)])
    expect(panel.get_by_role("img", name=f"What if, estimated: {geometry}", exact=True)).to_be_visible()
    expect(panel.get_by_role("img", name="As it ran, estimated: dp 2, cp 1, cap 64", exact=True)).to_be_visible()
    group.get_by_role("button", name=was, exact=True).click()
    expect(values).to_have_text(["–"] * 8)


def test_a_layout_that_cannot_be_is_refused_with_the_reason_and_what_to_change(
    shown: Shown, page: Page, watched: Watched
) -> None:
    show(page, shown, STAGED)
    panel = page.get_by_role("region", name="What if")
    stages = panel.get_by_role("group", name="pp", exact=True)
    stages.get_by_role("button", name="1", exact=True).click()
    why = "vpp=2 cuts the stages of a pipeline, but pp=1; raise pp to 2 or more, or ask for vpp=1"
    assert why in shown.ask(STAGED, pp=1)["detail"]
    expect(panel.get_by_role("alert")).to_contain_text(why)
    expect(panel.get_by_role("definition")).to_have_text(["–"] * 8)
    stages.get_by_role("button", name="4", exact=True).click()
    expect(panel.get_by_role("alert")).to_have_count(0)
    expect(panel.get_by_role("definition")).to_have_text(
        [with_any_space(text) for text in deltas(shown.ask(STAGED, pp=4))]
    )
    # The browser logs the server's refusal as an error.
    assert all("422" in error for error in watched.errors)
    watched.errors.clear()
