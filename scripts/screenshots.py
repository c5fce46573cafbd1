"""Takes the README's picture from a run on the server that is up: `make screenshots [RUN=demo]`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
SWELL = ROOT / ".venv/bin/swell"
FLAGS = ("--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update")
# Time for the panels in view to ask for their history and to paint it.
SETTLE_MS = 3_000


def main(run: str) -> None:
    link = _swell("login").split("http", 1)[1].split()[0]
    server = "http" + link.split("/login")[0]
    run_id = _swell("show", run, "--json").split('"id":"', 1)[1].split('"')[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["SWELL_CHROMIUM"], args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 920}, device_scale_factor=2, color_scheme="light")
        page.goto(f"http{link}")
        page.goto(f"{server}/runs/{run_id}")
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=ROOT / "docs/run.png")
        browser.close()


def _swell(*args: str) -> str:
    return subprocess.run([SWELL, *args], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo")
