"""`swell doctor`: looks at what a run on this machine needs. It leaves at most an empty SWELL_HOME behind."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from pydantic import BaseModel
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from server.cli.connection import connect
from server.cli.home import make_home
from server.cli.tables import shown
from server.client.client import SwellClient
from server.client.problem import SwellError
from server.client.server_record import server_of
from server.settings import Settings
from server.supervisor.ports import can_listen

_SHOWN_LIBRARIES = ("torch", "megatron-core", "ray", "transformers")
_MIN_MEMORY_BYTES = 4 * 2**30
"""A Ray head takes two gigabytes, a small trainer and its engine the rest."""
_MIN_DISK_BYTES = 2 * 2**30


class Verdict(StrEnum):
    """What a check came to."""

    OK = "ok"
    WARNING = "warning"
    """Runs may work, and something will be slow or missing."""
    PROBLEM = "problem"
    """Runs will not work until it is changed."""


class Check(BaseModel):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    detail: str
    """What was found and, unless it is right, what to do."""


class Examination(BaseModel):
    """Everything that was looked at."""

    checks: tuple[Check, ...]

    @property
    def has_problems(self) -> bool:
        return any(check.verdict is Verdict.PROBLEM for check in self.checks)


def examine(settings: Settings) -> Examination:
    """Look at everything, in the order in which it is needed."""
    return Examination(
        checks=(
            _python(),
            _libraries(),
            _home(settings.home),
            _disk(settings.home),
            _memory(),
            _dashboard(settings.web_dist),
            _server(settings),
            *_optional_programs(),
        )
    )


def examination_table(examination: Examination) -> RenderableType:
    styles = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "bold red"}
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in examination.checks:
        table.add_row(Text(check.verdict, style=styles[check.verdict]), check.name, shown(check.detail))
    return table


def _python() -> Check:
    is_ok = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} at {sys.executable}"
    return _check("Python", is_ok, detail if is_ok else f"{detail}; 3.11 or newer is needed")


def _libraries() -> Check:
    wrong = list(_wrong_libraries())
    if wrong:
        return _check("libraries", False, f"{'; '.join(wrong)}: install Swell again")
    return _check("libraries", True, ", ".join(f"{name} {version(name)}" for name in _SHOWN_LIBRARIES))


def _wrong_libraries() -> Iterator[str]:
    """Libraries that are missing or of a version that Swell is not made for. None of them is imported."""
    for requirement in map(Requirement, requires("swell") or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            yield f"{requirement.name} is missing"
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            yield f"{requirement.name} is {found}, not {requirement.specifier}"


def _home(home: Path) -> Check:
    try:
        make_home(home)
    except SwellError as error:
        return _check("SWELL_HOME", False, error.detail)
    return _check("SWELL_HOME", True, f"{home} can be written to")


def _disk(home: Path) -> Check:
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    return _roomy("disk", free, _MIN_DISK_BYTES, f"free at {there}")


def _memory() -> Check:
    return _roomy("memory", psutil.virtual_memory().available, _MIN_MEMORY_BYTES, f"free, {os.cpu_count()} cores")


def _roomy(name: str, found: int, needed: int, what: str) -> Check:
    detail = f"{found / 2**30:,.1f} GiB {what}"
    if found >= needed:
        return _check(name, True, detail)
    return Check(name=name, verdict=Verdict.WARNING, detail=f"{detail}; {needed / 2**30:.0f} GiB or more are better")


def _dashboard(web_dist: Path) -> Check:
    if (web_dist / "index.html").exists():
        return _check("dashboard", True, f"built at {web_dist}")
    return Check(name="dashboard", verdict=Verdict.WARNING, detail="not built: `make run` does it, with Node 20")


def _server(settings: Settings) -> Check:
    """A server that answers, or a port where one can listen."""
    if "SWELL_URL" not in os.environ and _nobody_serves(settings.home):
        if can_listen(settings.host, settings.port):
            return _check("server", True, f"none is up; {settings.host}:{settings.port} is free for one")
        return _check(
            "server",
            False,
            f"something else listens on {settings.host}:{settings.port}, or that address is not of this machine; "
            "set SWELL_PORT or SWELL_HOST",
        )
    try:
        with connect(settings) as client:
            return _answering(client)
    except SwellError as error:
        return _check("server", False, error.detail)


def _nobody_serves(home: Path) -> bool:
    try:
        return server_of(home) is None
    except SwellError:
        # What is wrong with the home is told by its own check.
        return True


def _answering(client: SwellClient) -> Check:
    total = client.runs(limit=1).total
    return _check("server", True, f"answers at {client.url} and takes this token; it has {total:,} runs")


def _optional_programs() -> Iterator[Check]:
    for name, commands, purpose in (
        ("Node", ("node",), "to build the dashboard"),
        ("Chromium", ("chromium", "chromium-browser", "google-chrome"), "for the browser tests"),
    ):
        found = next(filter(None, map(shutil.which, commands)), None)
        yield _check(name, True, found or f"not there; only needed {purpose}")


def _check(name: str, is_ok: bool, detail: str) -> Check:
    return Check(name=name, verdict=Verdict.OK if is_ok else Verdict.PROBLEM, detail=detail)
