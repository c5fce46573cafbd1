"""Each in a process of its own, as an actor or a driver has one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer.contracts.process_log import log_file, pids, source_of


def run(directory: Path, code: str, *, how: str = "write_process_log") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script(directory, code, how)], capture_output=True, text=True, check=False
    )


def script(directory: Path, code: str, how: str = "write_process_log") -> str:
    return (
        "import logging, sys, warnings, threading, ctypes, time\nfrom pathlib import Path\n"
        f"from trainer.contracts.process_log import {how}, failures_logged\n"
        f"{how}(Path({str(directory)!r}), 'rank 3')\n{code}\n"
    )


def test_a_source_has_a_file_and_a_file_a_source(tmp_path: Path) -> None:
    assert log_file(tmp_path, "rank 3") == tmp_path / "rank-3.log"
    assert source_of(tmp_path / "rank-3.log") == "rank 3"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("logging.getLogger('a.b').info('two\\nlines')", " INFO a.b: two\n\tlines\n"),
        ("print('printed')", "printed\n"),
        ("sys.stderr.write('to stderr')", "to stderr"),
        ("warnings.warn('odd thing')", "WARNING py.warnings: "),
        ("raise ValueError('uncaught')", "ValueError: uncaught"),
        ("threading.Thread(target=lambda: 1 / 0).start()", "ZeroDivisionError"),
        ("ctypes.string_at(0)", "Fatal Python error: Segmentation fault"),
        ("import subprocess; subprocess.run(['echo', 'of a child'])", "of a child\n"),
        (
            "with failures_logged('starting'):\n    raise ValueError('told')",
            "ERROR trainer.contracts.process_log: starting failed\n\tTraceback",
        ),
    ],
)
def test_whatever_an_actor_says_is_in_its_file(tmp_path: Path, code: str, expected: str) -> None:
    done = run(tmp_path, code)
    assert expected in (tmp_path / "rank-3.log").read_text()
    assert (done.stdout, done.stderr) == ("", "")


def test_a_driver_says_it_in_both_places(tmp_path: Path) -> None:
    done = run(tmp_path, "print('printed'); raise ValueError('uncaught')", how="copy_process_log")
    text = (tmp_path / "rank-3.log").read_text()
    assert "printed\n" in text
    assert "ValueError: uncaught" in text
    assert done.stdout == "printed\n"
    assert "ValueError: uncaught" in done.stderr


@pytest.mark.parametrize("how", ["write_process_log", "copy_process_log"])
def test_a_process_that_hangs_can_be_asked_where(tmp_path: Path, how: str) -> None:
    code = "def hanging():\n    print('here', flush=True)\n    time.sleep(60)\nhanging()"
    process = subprocess.Popen([sys.executable, "-c", script(tmp_path, code, how)], stdout=subprocess.DEVNULL)
    path = tmp_path / "rank-3.log"
    try:
        wait_for(path, "here")
        assert pids(tmp_path) == {"rank 3": process.pid}
        os.kill(process.pid, signal.SIGUSR1)
        wait_for(path, "in hanging")
    finally:
        process.kill()
        process.wait()
    # What it said before it was killed is there still.
    assert "here" in path.read_text()


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 20
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, "still not"
        time.sleep(0.05)
