"""What chooses from logs, machine, config and ledger of a run, and what is taken away from them, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from orchestrator.contracts.log_messages import LogLine
from tests.server.factories import START, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import (
    group_message,
    iteration_message,
    log_line,
    post,
    rollout_message,
    system_sample,
)
from tests.web.recorded_detail import record_lines
from tests.web.recorded_run import record, tell

pytestmark = pytest.mark.stack

SOURCES = ("driver", "rank 0", "rank 1")
NUM_LINES = 30
NUM_SAMPLES = 12
APART_S = 5


def spoken_lines(first: int = 0, count: int = NUM_LINES) -> list[LogLine]:
    """Lines of three processes by turns, a second apart; every tenth tells of a needle."""
    return [
        log_line(
            k // len(SOURCES),
            f"line {k}" + (" has a needle" if k % 10 == 4 else ""),
            source=SOURCES[k % len(SOURCES)],
            level="warning" if k % 10 == 4 else "info",
            at=START + timedelta(seconds=k),
        )
        for k in range(first, first + count)
    ]


def logs_of(server: LiveServer, page: Page) -> tuple[LaunchedRun, Locator]:
    """A run whose log is shown, and the lines that are."""
    run = server.launch(name="talks")
    record_lines(server, run, spoken_lines())
    page.goto(f"{server.url}/runs/{run.id}/logs")
    lines = page.get_by_role("region", name="Lines").get_by_role("listitem")
    expect(lines).to_have_count(NUM_LINES)
    return run, lines


def texts(lines: Sequence[LogLine]) -> list[re.Pattern[str]]:
    return [re.compile(rf"{line.text}\b") for line in lines]


def test_of_one_source_only_its_lines_are_shown_also_when_more_come(server: LiveServer, page: Page) -> None:
    run, lines = logs_of(server, page)
    source = page.get_by_role("combobox", name="Source")
    expect(source.get_by_role("option")).to_have_text(["All sources", *SOURCES])
    source.select_option("rank 1")
    told = [line for line in spoken_lines() if line.source == "rank 1"]
    expect(lines).to_have_text(texts(told))
    more = spoken_lines(NUM_LINES, 6)
    record_lines(server, run, more)
    expect(lines).to_have_text(texts([*told, *(line for line in more if line.source == "rank 1")]))
    source.select_option(label="All sources")
    expect(lines).to_have_text(texts([*spoken_lines(), *more]))


def test_buttons_go_from_hit_to_hit_and_round_the_ends(server: LiveServer, page: Page) -> None:
    logs_of(server, page)
    before, after = (page.get_by_role("button", name=name) for name in ("Hit before", "Next hit"))
    expect(before).to_be_disabled()
    expect(after).to_be_disabled()
    field = page.get_by_role("textbox", name="Search the log")
    field.fill("needle")
    status = page.get_by_role("status").filter(has_text="hits")
    expect(status).to_have_text("3 hits")
    pointed = page.get_by_role("region", name="Lines").locator("[data-pointed]")
    ways = ((after, 1, 4), (after, 2, 14), (before, 1, 4), (before, 3, 24), (after, 1, 4))
    for button, number, line in ways:
        button.click()
        expect(status).to_have_text(f"{number} of 3 hits")
        expect(pointed).to_contain_text(f"line {line} has a needle")
        expect(pointed.locator("mark")).to_have_text("needle")
        expect(pointed).to_be_in_viewport()
    page.set_viewport_size({"width": 800, "height": 900})
    assert field.evaluate("(input) => input.scrollWidth <= input.clientWidth"), "what was typed is cut"


def test_the_lines_that_the_filter_leaves_are_copied_and_downloaded(server: LiveServer, page: Page) -> None:
    run, lines = logs_of(server, page)
    told = [f"{row['at']} {row['source']} {row['level']} {row['text']}" for row in _log(server, run)]
    assert len(told) == NUM_LINES
    assert told[14].endswith(f"{SOURCES[14 % 3]} warning line 14 has a needle")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("30 lines copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "\n".join(told)
    with page.expect_download() as whole:
        page.get_by_role("button", name="Download").click()
    assert whole.value.suggested_filename == "talks.log"
    assert Path(whole.value.path()).read_text(encoding="utf8").splitlines() == told
    page.get_by_role("group", name="Least level").get_by_role("button", name="Warnings").click()
    expect(lines).to_have_count(3)
    with page.expect_download() as part:
        page.get_by_role("button", name="Download").click()
    assert Path(part.value.path()).read_text(encoding="utf8").splitlines() == told[4::10]


def _log(server: LiveServer, run: LaunchedRun) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = server.get(f"/runs/{run.id}/logs")["items"]
    return rows


def measured(server: LiveServer, page: Page) -> tuple[LaunchedRun, datetime]:
    """A run on a machine with two GPUs, whose figures are shown, and when they begin. Old ones would not be kept."""
    run = server.launch(name="works")
    began = datetime.now(UTC) - timedelta(seconds=APART_S * (NUM_SAMPLES + 1))
    record(server, run, [0])
    for k in range(NUM_SAMPLES):
        tell_sample(server, run, began, k)
    page.goto(f"{server.url}/runs/{run.id}/system")
    expect(panel(page, "CPU").locator("canvas")).to_be_visible()
    return run, began


def tell_sample(server: LiveServer, run: LaunchedRun, began: datetime, number: int) -> None:
    gpus = tuple(
        {
            "index": k,
            "utilization_frac": 0.25 + 0.5 * k,
            "memory_bytes": (k + 1) * 2**34,
            "memory_total_bytes": 80 * 2**30,
        }
        for k in range(2)
    )
    at = began + timedelta(seconds=APART_S * number)
    sample = system_sample(at=at, gpus=gpus, generated_tokens_per_s=300.0 + number)
    body = {"activity": "trains", "num_steps": 1, "total_steps": 120}
    tell(server, run, "heartbeat", **body, system=sample.model_dump(mode="json"))


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def table(page: Page, title: str) -> Locator:
    """The rows of a panel's table, which takes the place of its chart, without the head."""
    panel(page, title).scroll_into_view_if_needed()
    panel(page, title).get_by_role("img").press("t")
    return page.get_by_role("region", name=f"{title}, table").locator("tbody").get_by_role("row")


def test_the_newest_tokens_per_second_and_every_gpu_are_told(server: LiveServer, page: Page) -> None:
    run, began = measured(server, page)
    generated = panel(page, "Generated tokens/s")
    expect(generated.locator("canvas")).to_be_visible()
    expect(generated).to_contain_text(f"{300 + NUM_SAMPLES - 1}")
    tell_sample(server, run, began, NUM_SAMPLES)
    expect(generated).to_contain_text(f"{300 + NUM_SAMPLES}")
    gpus = table(page, "GPU")
    expect(gpus).to_have_count(NUM_SAMPLES + 1)
    names = page.get_by_role("region", name="GPU, table").get_by_role("columnheader")
    expect(names.filter(has_text="gpu")).to_have_text(["gpu 0", "gpu 1"])
    expect(gpus.last).to_contain_text("25.0%75.0%")
    expect(panel(page, "GPU memory")).to_contain_text("of 80.0 GiB each")
    expect(table(page, "GPU memory").last).to_contain_text("16.0 GiB32.0 GiB")


def test_a_stretch_that_is_dragged_on_one_chart_of_the_machine_is_that_of_all(server: LiveServer, page: Page) -> None:
    measured(server, page)
    box = panel(page, "CPU").locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], y, steps=8)
    page.mouse.up()
    whole = page.get_by_role("button", name="Show all of the time")
    expect(whole).to_be_visible()
    # Of 0 s to 55 s the middle half.
    generated = table(page, "Generated tokens/s")
    expect(generated).to_have_text([re.compile(f"{300 + k}$") for k in range(3, 9)])
    page.reload()
    expect(table(page, "GPU")).to_have_count(6)
    whole.click()
    expect(table(page, "Generated tokens/s")).to_have_count(NUM_SAMPLES)
    expect(whole).to_have_count(0)


def test_a_clone_is_laid_beside_the_run_that_it_came_from(server: LiveServer, page: Page) -> None:
    parent = server.launch(name="parent")
    page.goto(f"{server.url}/runs/{parent.id}")
    page.get_by_role("button", name="Actions for parent").click()
    page.get_by_role("menuitem", name="Clone run").click()
    spec = page.get_by_role("textbox", name="Spec of the run, as YAML")
    expect(spec).to_contain_text("name: parent-2")
    spec.locator(".cm-line", has_text="iterations: 3").click()
    page.keyboard.press("End")
    page.keyboard.type("7")
    expect(spec).to_contain_text("iterations: 37")
    page.get_by_role("button", name="Launch run").click()
    expect(page.get_by_role("heading", name="parent-2", level=1)).to_be_visible()
    page.get_by_role("link", name="Config", exact=True).click()
    page.get_by_role("combobox", name="Compare with").select_option(parent.id)
    expect(page.get_by_role("status").filter(has_text="2 fields differ")).to_be_visible()
    expect(page.get_by_role("region", name="optimizer")).to_be_visible()
    page.get_by_role("button", name="Differences only").click()
    fields = page.get_by_role("region", name="run", exact=True)
    expect(fields.get_by_role("columnheader")).to_have_text(["Field", "This run", "parent"])
    rows = fields.locator("tbody").get_by_role("row")
    expect(rows).to_have_text(["nameparent-2parent", "iterations373"])
    expect(page.get_by_role("region", name="optimizer")).to_have_count(0)


def test_books_that_do_not_balance_are_told_and_marked(server: LiveServer, page: Page) -> None:
    run = server.launch(name="counts")
    _tell_books(server, run, 0, num_carried_out=1)
    page.goto(f"{server.url}/runs/{run.id}/ledger")
    flow = page.get_by_role("region", name="Rollouts, in and out")
    expect(flow).to_contain_text("5 rollouts in, 5 out")
    alert = page.get_by_role("alert").filter(has_text="books")
    expect(alert).to_have_count(0)
    _tell_books(server, run, 1)
    page.reload()
    expect(alert).to_contain_text("The books do not balance in 1 place, the first in iteration 1.")
    expect(alert).to_contain_text("Iteration 0 carried 1 rollouts on; iteration 1 took 0 up.")
    expect(flow).to_contain_text("were trained")
    expect(flow).not_to_contain_text("rollouts in,")
    rows = page.get_by_role("region", name="By iteration, table").locator("tbody").get_by_role("row")
    expect(rows.get_by_role("rowheader")).to_have_text(["1, does not balance", "0"])


def _tell_books(server: LiveServer, run: LaunchedRun, number: int, num_carried_out: int = 0) -> None:
    """A step of four samples, and the iteration that they come from."""
    assert server.record(run, step_message(number)).status_code == 200
    fates = ["trained"] * 4 + ["carried"] * num_carried_out
    rollouts = [
        rollout_message(f"{number}-{k}", fate=fate, step=number if fate == "trained" else None)
        for k, fate in enumerate(fates)
    ]
    message = iteration_message(number, [group_message(f"group {number}", rollouts)])
    assert post(server, run, "rollouts", message).status_code == 200
