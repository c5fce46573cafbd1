"""The dashboard in a real Chromium, each figure beside its budget: first chart, memory, how soon a step is painted.

Frames are measured by `bench.web_frames`. Needs the built dashboard, SWELL_CHROMIUM, and a machine that has nothing
else to do.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from bench import web_frames
from bench.web_page import WAIT_MS, heap_mb, say, signed_in
from orchestrator.contracts.messages import StepMessage
from tests.server.factories import metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.web.browser import running_browser
from tests.web.large_runs import record_long_run

NUM_STEPS, NUM_METRICS, NUM_LIVE = 20_000, 30, 200
NUM_CHARTS = 60
UPDATES_OF_AN_HOUR = 36_000
_BATCH = 250
_SCRIPT_BYTES = """performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""
_NOTE_PAINTED_STEPS = """() => {
  window.painted = {};
  const note = () => {
    const found = /Steps 0 to ([\\d,]+)/.exec(document.body.innerText);
    if (found) requestAnimationFrame(() => { window.painted[found[1].replaceAll(",", "")] ??= Date.now(); });
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def main() -> None:
    """Measure all of it; about five minutes."""
    with tempfile.TemporaryDirectory() as home, running_server(Path(home)) as server, running_browser() as browser:
        say(f"web: {NUM_STEPS:,} steps × {NUM_METRICS} metrics")
        measure_first_chart(browser, server)
        measure_many_charts(browser, server)
        web_frames.measure(browser, server, num_steps=NUM_STEPS)
        measure_live(browser, server)
        measure_an_hour(browser, server)


def record(server: LiveServer, run: LaunchedRun, steps: range, *, num_metrics: int) -> None:
    for first in range(steps.start, steps.stop, _BATCH):
        numbers = range(first, min(first + _BATCH, steps.stop))
        server.record(run, *[_step(number, num_metrics) for number in numbers]).raise_for_status()


def measure_first_chart(browser: Browser, server: LiveServer) -> None:
    """Time from the address to the first drawn chart, and what came over the wire."""
    run = record_long_run(server, name="large", num_steps=NUM_STEPS, num_metrics=NUM_METRICS)
    page = signed_in(browser, server)
    began = time.perf_counter()
    page.goto(f"{server.url}/runs/{run.id}", wait_until="commit")
    page.wait_for_selector("canvas", timeout=WAIT_MS)
    took_s, script_bytes = time.perf_counter() - began, page.evaluate(_SCRIPT_BYTES)
    say(f"  first chart: {took_s * 1e3:,.0f} ms (budget 1,000), {script_bytes / 1e3:,.0f} kB of scripts (budget 250)")
    page.context.close()


def measure_many_charts(browser: Browser, server: LiveServer) -> None:
    """A chart is made when it comes near the screen, and kept: after a way through the page all of them exist."""
    run = record_long_run(server, name="many charts", num_steps=NUM_STEPS, num_metrics=NUM_CHARTS)
    page = signed_in(browser, server)
    page.goto(f"{server.url}/runs/{run.id}")
    panels = page.locator("main section section")
    panels.last.wait_for(state="attached", timeout=WAIT_MS)
    for k in range(panels.count()):
        panels.nth(k).scroll_into_view_if_needed()
        panels.nth(k).locator("canvas").wait_for(timeout=WAIT_MS)
    # With the one on top, which shows batch size and loss.
    charts = page.locator("canvas").count()
    if charts < NUM_CHARTS:
        raise RuntimeError(f"the page has {charts} charts in place of {NUM_CHARTS}")
    say(f"  heap with {charts} charts at once: {heap_mb(page):.1f} MB after collection (budget 100)")
    page.context.close()


def measure_live(browser: Browser, server: LiveServer) -> None:
    """From the acknowledgement of a step to the frame that shows it."""
    run = server.launch(name="live")
    page = signed_in(browser, server)
    record(server, run, range(1), num_metrics=NUM_METRICS)
    page.goto(f"{server.url}/runs/{run.id}")
    page.wait_for_selector("canvas", timeout=WAIT_MS)
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
    say(f"  acknowledged → painted, {len(lags)} of {NUM_LIVE} steps: p50 {p50:.0f} ms, p95 {p95:.0f} ms (budget 300)")
    page.context.close()


def measure_an_hour(browser: Browser, server: LiveServer) -> None:
    """As many updates as an hour brings at ten a second."""
    run = server.launch(name="hour")
    page = signed_in(browser, server)
    record(server, run, range(_BATCH), num_metrics=NUM_METRICS)
    page.goto(f"{server.url}/runs/{run.id}")
    page.wait_for_selector("canvas", timeout=WAIT_MS)
    before = heap_mb(page)
    record(server, run, range(_BATCH, UPDATES_OF_AN_HOUR), num_metrics=4)
    page.wait_for_timeout(5000)
    after = heap_mb(page)
    say(
        f"  {UPDATES_OF_AN_HOUR:,} updates: heap {before:.1f} MB to {after:.1f} MB after collection, "
        f"{after - before:+.1f} MB (budget 20)"
    )
    page.context.close()


def _step(number: int, num_metrics: int) -> StepMessage:
    names = ["train/loss", "reward/mean", *(f"bench/metric_{k}" for k in range(num_metrics))][:num_metrics]
    return step_message(
        number, metrics={name: metric((number * 7919 + k) % 1000 / 1000) for k, name in enumerate(names)}
    )
