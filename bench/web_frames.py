"""Frames per second while a reader moves the cursor, zooms and pans, by real input events. Part of `bench.web`."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Browser, Locator, Page

from bench.web_page import WAIT_MS, say, signed_in
from tests.server.live_server import LiveServer
from tests.web.large_runs import record_long_run
from tests.web.recorded_detail import timed_step

NUM_COMPARED = 10
NUM_RANKS, NUM_ENGINES = 479, 32
_MEASURED_S = 4.0
_METRICS = '["train/metric_00","train/metric_01"]'
_COUNT_FRAMES = """() => {
  const counted = { began: performance.now(), frames: 0, longest: 0, last: performance.now() };
  window.counted = counted;
  const count = (now) => {
    counted.frames += 1;
    counted.longest = Math.max(counted.longest, now - counted.last);
    counted.last = now;
    if (window.counted === counted) requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
}"""
_COUNTED = """() => {
  const { began, frames, longest } = window.counted;
  return [(frames * 1000) / (performance.now() - began), longest];
}"""


def measure(browser: Browser, server: LiveServer, *, num_steps: int) -> None:
    """All of it."""
    _measure_charts(browser, server, num_steps)
    _measure_timeline(browser, server)


def _measure_charts(browser: Browser, server: LiveServer, num_steps: int) -> None:
    runs = [
        record_long_run(server, name=f"compared {k}", num_steps=num_steps, num_metrics=3) for k in range(NUM_COMPARED)
    ]
    page = signed_in(browser, server)
    ids = ",".join(f'"{run.id}"' for run in runs)
    page.goto(f"{server.url}/compare?runs=[{ids}]&metrics={_METRICS}")
    plot = page.locator(".u-over").first
    plot.wait_for(timeout=WAIT_MS)
    page.wait_for_timeout(2000)
    what = f"{NUM_COMPARED} × {num_steps:,} points"
    _say_frames(f"cursor over {what}", page, lambda: _sweep(page, plot))
    _say_frames(f"zoom into and out of {what}", page, lambda: _zoom(page, plot))
    _say_frames(f"zoom by wheel and pan by drag of {what}", page, lambda: _wheel(page, plot, pan_with="Shift"))
    page.context.close()


def _measure_timeline(browser: Browser, server: LiveServer) -> None:
    run = server.launch(name="wide")
    server.record(run, timed_step(0, num_ranks=NUM_RANKS, num_engines=NUM_ENGINES)).raise_for_status()
    page = signed_in(browser, server)
    page.goto(f"{server.url}/runs/{run.id}/timeline?folded=[]")
    plot = page.get_by_role("group", name="Arrow keys read it")
    plot.wait_for(timeout=WAIT_MS)
    page.wait_for_timeout(1000)
    what = f"the timeline of {NUM_RANKS + NUM_ENGINES + 1} actors"
    _say_frames(f"zoom and pan of {what}", page, lambda: _wheel(page, plot))
    page.context.close()


def _say_frames(what: str, page: Page, act: Callable[[], None]) -> None:
    page.evaluate(_COUNT_FRAMES)
    ends_at = time.monotonic() + _MEASURED_S
    while time.monotonic() < ends_at:
        act()
    per_s, longest_ms = page.evaluate(_COUNTED)
    say(f"  {what}: {per_s:.0f} frames/s (budget 50), the longest {longest_ms:.0f} ms")


def _box(plot: Locator) -> tuple[float, float, float]:
    """Left end, width and middle height."""
    box = plot.bounding_box()
    if box is None:
        raise RuntimeError("the plot is not on the screen")
    return box["x"], box["width"], box["y"] + box["height"] / 2


def _sweep(page: Page, plot: Locator) -> None:
    left, width, y = _box(plot)
    for share in (0.1, 0.9):
        page.mouse.move(left + share * width, y, steps=60)


def _zoom(page: Page, plot: Locator) -> None:
    left, width, y = _box(plot)
    page.mouse.move(left + 0.3 * width, y)
    page.mouse.down()
    page.mouse.move(left + 0.7 * width, y, steps=20)
    page.mouse.up()
    page.wait_for_url("**from=**", timeout=WAIT_MS)
    page.wait_for_timeout(300)
    page.mouse.dblclick(left + 0.5 * width, y)
    page.wait_for_url(lambda url: "from=" not in url, timeout=WAIT_MS)
    page.wait_for_timeout(300)


def _wheel(page: Page, plot: Locator, *, pan_with: str | None = None) -> None:
    """Zooms in by the wheel, half of the way out, and drags what is left to both sides."""
    left, width, y = _box(plot)
    page.mouse.move(left + 0.5 * width, y)
    page.keyboard.down("Control")
    for by in (-60,) * 12 + (60,) * 8:
        page.mouse.wheel(0, by)
    page.keyboard.up("Control")
    if pan_with:
        page.keyboard.down(pan_with)
    page.mouse.down()
    for share in (0.2, 0.8):
        page.mouse.move(left + share * width, y, steps=20)
    page.mouse.up()
    if pan_with:
        page.keyboard.up(pan_with)
