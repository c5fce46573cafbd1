"""SWELL_HOME on the disk: whether this user can keep a server's data there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from server.cli.problem import CommandError, ExitCode, command_error


def make_home(home: Path) -> None:
    """Create the directory if need be. Raises CommandError (bad input) where nothing can be written to it."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise unusable_home(home, error) from error


def unusable_home(home: Path, error: OSError) -> CommandError:
    """The problem that the operating system told of."""
    return command_error(
        ExitCode.BAD_INPUT,
        "unusable-home",
        "SWELL_HOME cannot be used",
        f"SWELL_HOME={home}: {error.strerror or error}; point it at a directory that you may write to.",
    )
