"""What a chart of the page holds, read point by point with the arrow keys as a reader who sees nothing does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator

from tests.server.live_server import LaunchedRun, LiveServer

_STEP = re.compile(r"^Step ([\d,]+): Batch size ([\d,]+), Loss (\S+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A step of the hero chart."""

    step: int
    batch_size: int


def drawn_points(chart: Locator, count: int) -> list[Point]:
    """The points of the hero chart from the first on: `count` of them, and the next one where there is one."""
    spoken = chart.locator("xpath=following-sibling::*[@aria-live]")
    chart.press("Home")
    points = [_point(spoken.inner_text())]
    for _ in range(count):
        chart.press("ArrowRight")
        point = _point(spoken.inner_text())
        if point.step == points[-1].step and len(points) == count:
            break
        points.append(point)
    chart.press("Escape")
    return points


def recorded_points(server: LiveServer, run: LaunchedRun) -> list[Point]:
    """The same as the server has it."""
    rows = server.get(f"/runs/{run.id}/steps", limit=500)["items"]
    return [Point(step=row["step"], batch_size=row["global_batch_size"]) for row in rows]


def _point(sentence: str) -> Point:
    found = _STEP.match(sentence)
    assert found is not None, sentence
    step, size, _ = (text.replace(",", "") for text in found.groups())
    return Point(step=int(step), batch_size=int(size))
