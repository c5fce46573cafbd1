from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from bench import train
from bench.train import ProgramError

TOLD = '{"seconds": 2.0, "samples": 4, "response_tokens": 20}'


def program(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join(("import os, subprocess, sys", *lines))]


def test_a_way_that_crashes_once_is_tried_once_more_and_told(tmp_path, capsys) -> None:
    mark = str(tmp_path / "was here")
    crash = f"os.path.exists({mark!r}) or (open({mark!r}, 'w'), os.abort())"
    measured = train._tried_twice("one process", program(crash, f"print({TOLD!r})"), threads=1)
    assert measured is not None
    assert measured.tokens_per_s == 10
    assert "tried once more" in (told := capsys.readouterr().out)
    assert "ended with -6" in told


def test_a_way_that_fails_twice_is_left_out_and_told(capsys) -> None:
    assert train._tried_twice("one process", program("sys.exit('no such model')"), threads=1) is None
    told = capsys.readouterr().out
    assert told.count("ended with 1:\nno such model") == 2
    assert "left out" in told


def test_a_program_that_hangs_is_told(monkeypatch) -> None:
    monkeypatch.setattr(train, "TIMEOUT_S", 0.1)
    with pytest.raises(ProgramError, match=r"has not ended within 0\.1 s"):
        train._run(program("import time; time.sleep(600)"), threads=1)


def test_what_a_program_has_started_ends_with_it() -> None:
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
    launcher = program(f"child = {child}", "print(child.pid, flush=True)", "child.wait()")
    with subprocess.Popen(launcher, stdout=subprocess.PIPE, text=True) as started:
        started_by_it = psutil.Process(int(started.stdout.readline()))
        train._kill(started.pid)
    psutil.wait_procs([started_by_it])
    assert not started_by_it.is_running() or started_by_it.status() == psutil.STATUS_ZOMBIE
