"""`swell logs`: lines of processes as people read them in a terminal, harmless to it, and whose lines there are."""

from __future__ import annotations

import re
from typing import Protocol

from rich.text import Text

from orchestrator.contracts.log_messages import LogLevel
from server.cli.tables import shown
from server.client.log_reader import LogQuery
from server.logs.schemas import LogLineOut, LogPage

_STYLES = {LogLevel.DEBUG: "dim", LogLevel.INFO: "", LogLevel.WARNING: "yellow", LogLevel.ERROR: "red"}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Colours, cursor moves, titles and links: what programs send to terminals."""
_INDENT = "\n    "


class LogPages(Protocol):
    """What looking for a source needs of a client."""

    def log_page(self, query: LogQuery, *, limit: int) -> LogPage: ...


def unknown_source(server: LogPages, run: str, source: str) -> str | None:
    """A sentence with the processes that wrote anything, when this one did not; else None."""
    page = server.log_page(LogQuery(run, source=source), limit=1)
    # A run of very many processes does not name them all.
    if page.items or source in page.sources:
        return None
    there = ", ".join(page.sources)
    return f"No process named {source!r} wrote a line; " + (f"there are: {there}." if there else "nobody did.")


def log_line(line: LogLineOut, *, with_attempt: bool) -> Text:
    """Time, level, source and text; a traceback keeps its lines, indented.

    with_attempt: whether lines of several attempts may stand together.
    """
    who = f"{line.source}#{line.attempt}" if with_attempt else line.source
    text = Text(f"{line.at.astimezone():%H:%M:%S}.{line.at.microsecond // 1000:03} ", style="dim")
    text.append(f"{line.level.upper():<7} ", style=_STYLES[line.level])
    text.append_text(shown(f"{who:<10} ", "cyan"))
    plain = _ANSI.sub("", line.text).expandtabs(8).rstrip().replace("\r\n", "\n")
    return text.append_text(shown(plain.replace("\n", _INDENT), _STYLES[line.level], several_lines=True))
