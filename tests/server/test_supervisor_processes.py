import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from server.supervisor import processes

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
DOCILE = "import time; print('up', flush=True); time.sleep(60)"


@contextmanager
def child(program: str, tag: str = "") -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", program], env={"SWELL_TEST_TAG": tag}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_process_is_found_by_pid_and_creation_time_together() -> None:
    with child(DOCILE) as process:
        created = psutil.Process(process.pid).create_time()
        assert processes.find(process.pid, created) is not None
        assert processes.find(process.pid, created - 60) is None
        process.kill()
        deadline = time.monotonic() + 5
        while processes.find(process.pid, created) is not None:
            assert time.monotonic() < deadline, "a zombie counts as dead"
            time.sleep(0.01)


def test_tagged_processes_are_those_that_began_with_the_tag() -> None:
    with child(DOCILE, "mine") as mine, child(DOCILE, "other"):
        assert processes.pids(processes.tagged("SWELL_TEST_TAG", "mine")) == [mine.pid]
        assert processes.tagged("SWELL_TEST_TAG", "nobody's") == []


def test_ending_asks_first_and_kills_who_stays() -> None:
    with child(DOCILE, "mine") as docile, child(STUBBORN, "mine") as stubborn:
        both = [psutil.Process(process.pid) for process in (docile, stubborn)]
        assert processes.end(both, grace_s=0.5) == []
        assert not any(map(processes.is_alive, both))


def test_ending_what_has_ended_is_no_error() -> None:
    with child(DOCILE) as process:
        gone = psutil.Process(process.pid)
        process.kill()
        process.wait()
        assert processes.end([gone], grace_s=0.1) == []
        assert processes.kill([gone]) == []
