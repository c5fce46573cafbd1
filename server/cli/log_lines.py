"""`swell logs`: lines of processes as people read them in a terminal, harmless to it."""

from __future__ import annotations

import re

from rich.text import Text

from orchestrator.contracts.log_messages import LogLevel
from server.cli.tables import shown
from server.logs.schemas import LogLineOut

_STYLES = {LogLevel.DEBUG: "dim", LogLevel.INFO: "", LogLevel.WARNING: "yellow", LogLevel.ERROR: "red"}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Colours, cursor moves, titles and links: what programs send to terminals."""
_INDENT = "\n    "


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
