"""A real Chromium, and what every page in it must hold: no console error, no violation of the page's policy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

WEB = Path(__file__).parents[2] / "web"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NOT_AS_READERS_HAVE_IT = ("--disable-back-forward-cache",)
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI}`));
"""
_EXPECT_WITHIN_MS = 20_000
"""Tests say what becomes true, not how fast: the machine may be loaded."""
_SEVERE = ("serious", "critical")


def chromium_path() -> str:
    """SWELL_CHROMIUM, or the first Chromium on the path. Raises FileNotFoundError where there is none."""
    found = os.environ.get("SWELL_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise FileNotFoundError("no Chromium: install one, or name it in SWELL_CHROMIUM")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    expect.set_options(timeout=_EXPECT_WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=list(_ARGUMENTS), ignore_default_args=list(_NOT_AS_READERS_HAVE_IT)
        )
        yield browser
        browser.close()


@dataclass(slots=True, kw_only=True)
class Watched:
    """A browser context whose pages are listened to."""

    context: BrowserContext
    errors: list[str] = field(default_factory=list)

    def open(self) -> Page:
        page = self.context.new_page()
        page.on("console", lambda message: self._on_console(message))
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))
        page.on("dialog", lambda dialog: self.errors.append(f"{page.url}: dialog {dialog.message}"))
        return page

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.location.get('url', '')}: {message.text}")


@contextmanager
def watched_context(browser: Browser, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**options)
    context.add_init_script(_TELL_VIOLATIONS)
    yield Watched(context=context)
    context.close()


def severe_findings(page: Page) -> list[str]:
    """What axe finds on the page as it is, from serious up, a line each."""
    page.evaluate((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf8"))
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found
        if violation["impact"] in _SEVERE
        for node in violation["nodes"]
    ]
