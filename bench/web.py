"""The dashboard in a real Chromium: its first chart, its memory, its frames, and how soon a recorded step is painted.

Needs the built dashboard and SWELL_CHROMIUM, and a machine with nothing else to do.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from playwright.sync_api import Browser, Page

from orchestrator.contracts.messages import StepMessage
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import running_browser
from tests.web.conftest import login_url

NUM_STEPS, NUM_METRICS, NUM_LIVE = 20_000, 30, 200
NUM_COMPARED = 10
UPDATES_OF_AN_HOUR = 36_000
_BATCH = 250
_VIEWPORT = {"width": 1600, "height": 1000}
_WAIT_MS = 60_000

_FRAMES_WHILE_MOVING = """async () => {
  const plot = document.querySelector("canvas").closest("[role=img]").querySelector(".u-over");
  const { left, top, width, height } = plot.getBoundingClientRect();
  const began = performance.now();
  let frames = 0;
  while (performance.now() - began < 3000) {
    const x = left + width * (0.5 + 0.45 * Math.sin(frames / 20));
    plot.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: top + height / 2, bubbles: true }));
    await new Promise(requestAnimationFrame);
    frames += 1;
  }
  return frames / 3;
}"""
_NOTE_PAINTED_STEPS = """() => {
  window.painted = {};
  const note = () => {
    const found = /Steps 0 to ([\\d,]+)/.exec(document.body.innerText);
    if (found) requestAnimationFrame(() => { window.painted[found[1].replaceAll(",", "")] ??= Date.now(); });
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
_SCRIPT_BYTES = """performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""


def main() -> None:
    """Measure all of it; about ten minutes."""
    with tempfile.TemporaryDirectory() as home, running_server(Path(home)) as server, running_browser() as browser:
        runs = [server.launch(name=f"large-{k}") for k in range(NUM_COMPARED)]
        for k, run in enumerate(runs):
            record(server, run, range(NUM_STEPS), num_metrics=NUM_METRICS if k == 0 else 1)
        _say(f"web: {NUM_STEPS:,} steps × {NUM_METRICS} metrics")
        measure_first_chart(browser, server, runs[0])
        measure_frames(browser, server, runs)
        measure_live(browser, server)
        measure_an_hour(browser, server)


def record(server: LiveServer, run: LaunchedRun, steps: range, *, num_metrics: int) -> None:
    for first in range(steps.start, steps.stop, _BATCH):
        numbers = range(first, min(first + _BATCH, steps.stop))
        server.record(run, *[_step(number, num_metrics) for number in numbers]).raise_for_status()


def measure_first_chart(browser: Browser, server: LiveServer, run: LaunchedRun) -> None:
    """Time from the address to the first drawn chart, what came over the wire, and the heap with all charts open."""
    page = _signed_in(browser, server)
    began = time.perf_counter()
    page.goto(f"{server.url}/runs/{run.id}", wait_until="commit")
    page.wait_for_selector("canvas", timeout=_WAIT_MS)
    took_s, script_bytes = time.perf_counter() - began, page.evaluate(_SCRIPT_BYTES)
    _say(f"  first chart: {took_s * 1e3:,.0f} ms, {script_bytes / 1e3:,.0f} kB of scripts")
    closed = page.get_by_role("button", expanded=False)
    closed.first.wait_for(timeout=_WAIT_MS)
    while closed.count() > 0:
        closed.first.click()
    for y in range(0, 6000, 600):
        page.evaluate(f"scrollTo(0, {y})")
        page.wait_for_timeout(200)
    charts = page.locator("canvas").count()
    _say(f"  heap with {charts} charts: {_heap_mb(page):.1f} MB after collection")
    page.context.close()


def measure_frames(browser: Browser, server: LiveServer, runs: Iterable[LaunchedRun]) -> None:
    """Frames while the cursor moves over the runs that are compared."""
    page = _signed_in(browser, server)
    ids = ",".join(f'"{run.id}"' for run in runs)
    page.goto(f"{server.url}/compare?runs=[{ids}]")
    page.wait_for_selector("canvas", timeout=_WAIT_MS)
    page.wait_for_timeout(2000)
    _say(f"  cursor over {NUM_COMPARED} × {NUM_STEPS:,} points: {page.evaluate(_FRAMES_WHILE_MOVING):.0f} frames/s")
    page.context.close()


def measure_live(browser: Browser, server: LiveServer) -> None:
    """From the acknowledgement of a step to the frame that shows it."""
    run = server.launch(name="live")
    page = _signed_in(browser, server)
    record(server, run, range(1), num_metrics=NUM_METRICS)
    page.goto(f"{server.url}/runs/{run.id}")
    page.wait_for_selector("canvas", timeout=_WAIT_MS)
    page.evaluate(_NOTE_PAINTED_STEPS)
    acknowledged: dict[str, float] = {}
    for step in range(1, NUM_LIVE + 1):
        record(server, run, range(step, step + 1), num_metrics=NUM_METRICS)
        acknowledged[str(step)] = time.time() * 1e3
        page.wait_for_timeout(100)
    page.wait_for_timeout(2000)
    painted: dict[str, float] = page.evaluate("window.painted")
    lags = sorted(painted[step] - at for step, at in acknowledged.items() if step in painted)
    p50, p95 = statistics.median(lags), statistics.quantiles(lags, n=20)[-1]
    _say(f"  acknowledged → painted, {len(lags)} of {NUM_LIVE} steps: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    page.context.close()


def measure_an_hour(browser: Browser, server: LiveServer) -> None:
    """As many updates as an hour brings at ten a second."""
    run = server.launch(name="hour")
    page = _signed_in(browser, server)
    record(server, run, range(_BATCH), num_metrics=NUM_METRICS)
    page.goto(f"{server.url}/runs/{run.id}")
    page.wait_for_selector("canvas", timeout=_WAIT_MS)
    before = _heap_mb(page)
    record(server, run, range(_BATCH, UPDATES_OF_AN_HOUR), num_metrics=4)
    page.wait_for_timeout(5000)
    _say(f"  {UPDATES_OF_AN_HOUR:,} updates: heap {before:.1f} MB to {_heap_mb(page):.1f} MB after collection")
    page.context.close()


def _signed_in(browser: Browser, server: LiveServer) -> Page:
    page = browser.new_context(viewport=_VIEWPORT).new_page()  # type: ignore[arg-type]
    page.goto(login_url(server))
    return page


def _heap_mb(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = float(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used / 1e6


def _step(number: int, num_metrics: int) -> StepMessage:
    names = ["train/loss", "reward/mean", *(f"bench/metric_{k}" for k in range(num_metrics))][:num_metrics]
    return step_message(
        number, metrics={name: metric((number * 7919 + k) % 1000 / 1000) for k, name in enumerate(names)}
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
