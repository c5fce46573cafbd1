"""What a row of the list tells of its run, number by number, and the selection that archives, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.live_server import LaunchedRun, LiveServer
from tests.web.conftest import see_runs
from tests.web.recorded_run import beat, record, recorded_step, step_lengths, tell

pytestmark = pytest.mark.stack

NUM_STEPS = 30
SPARKLINE, BATCH_SIZE, PROGRESS, REWARD, LOSS = 4, 5, 6, 7, 8
"""Places of the cells of a row."""
_HEIGHT = re.compile(r"V([\d.]+)H")
_BOX_PX = 100.0
_FREE_PX = 7.4
"""A sparkline's box, and what its highest value leaves free above it."""


def row_of(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def drawn_sizes(row: Locator) -> list[float]:
    """Heights of the sparkline's line, as shares of the highest."""
    line = row.get_by_role("cell").nth(SPARKLINE).locator("path").last.get_attribute("d")
    assert line is not None
    return [(_BOX_PX - float(height)) / (_BOX_PX - _FREE_PX) for height in _HEIGHT.findall(line)]


def sizes_of(steps: range) -> list[int]:
    return [len(step_lengths(step)) for step in steps]


def over(server: LiveServer, name: str) -> LaunchedRun:
    """A run that has ended."""
    run = server.launch(name=name)
    record(server, run, range(2))
    tell(server, run, "state", outcome="failed", reason="loss is NaN")
    return run


def test_the_sparkline_is_drawn_from_the_recorded_sizes_and_grows(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="grows")
    record(server, run, range(NUM_STEPS))
    row = row_of(page, "grows")
    for count in (NUM_STEPS, NUM_STEPS + 1):
        sizes = sizes_of(range(count))
        expect(row.get_by_role("cell").nth(PROGRESS)).to_contain_text(str(count))
        expect(row.get_by_role("cell").nth(BATCH_SIZE)).to_have_text(str(sizes[-1]))
        assert drawn_sizes(row) == pytest.approx([size / max(sizes) for size in sizes], abs=1e-3)
        record(server, run, [NUM_STEPS])


def test_a_row_tells_the_time_that_is_left_and_the_newest_reward_and_loss(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    run = server.launch(name="counts down")
    row = row_of(page, "counts down")
    for step, left in ((0, "1 min 59 s left"), (1, "1 min 58 s left"), (2, "1 min 57 s left")):
        record(server, run, [step])
        beat(server, run, step + 1)
        expect(row.get_by_role("cell").nth(PROGRESS)).to_contain_text(left)
        metrics = recorded_step(step).metrics
        for cell, name, digits in ((REWARD, "reward/mean", 3), (LOSS, "train/loss", 4)):
            value = metrics[name].value
            assert isinstance(value, float)
            expect(row.get_by_role("cell").nth(cell)).to_have_text(f"{value:.{digits}f}")


def test_selected_runs_that_ended_are_archived_together(server: LiveServer, page: Page) -> None:
    see_runs(page, server)
    ended = [over(server, name) for name in ("first", "second")]
    kept = over(server, "third")
    record(server, server.launch(name="still runs"), [0])
    expect(page.get_by_role("row")).to_have_count(5)
    bar = page.get_by_role("region", name="Selected runs")
    for name in ("first", "second", "still runs"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    expect(bar).to_contain_text("3 runs selected")
    expect(bar.get_by_role("button", name="Archive")).to_be_disabled()
    page.get_by_role("checkbox", name="Select still runs").uncheck()
    bar.get_by_role("button", name="Archive").click()
    expect(bar).to_have_count(0)
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["still runs", "third"])
    archived = {run.id: server.get(f"/runs/{run.id}")["archived_at"] is not None for run in (*ended, kept)}
    assert archived == {ended[0].id: True, ended[1].id: True, kept.id: False}
