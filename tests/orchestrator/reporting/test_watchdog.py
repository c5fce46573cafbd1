from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.contracts.messages import EventMessage
from orchestrator.reporting.stall import PhaseTimes, StallRule
from orchestrator.reporting.timekeeper import Timekeeper
from orchestrator.reporting.watchdog import Watchdog
from tests.orchestrator.ingest_server import until

ACTOR = """
import sys, time
from pathlib import Path
from trainer.contracts.process_log import write_process_log
write_process_log(Path(sys.argv[1]), "rank 1")
def stuck_here():
    print("ready", flush=True)
    time.sleep(60)
stuck_here()
"""
SOON = StallRule(floor_s=0.1, factor=6, min_closed=3)


@pytest.fixture
def actor(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", ACTOR, str(tmp_path)])
    log = tmp_path / "rank-1.log"
    until(lambda: log.exists() and "ready" in log.read_text(), timeout_s=30)
    yield process
    process.kill()
    process.wait()


def watched(tmp_path: Path, told: list[EventMessage], busy: list[str]) -> tuple[Timekeeper, Watchdog]:
    keeper = Timekeeper()
    dog = Watchdog(
        keeper, times=PhaseTimes(SOON), busy=lambda: busy, log_directory=tmp_path, tell=told.append, every_s=0.02
    )
    for _ in range(3):
        with keeper.phase("train"):
            pass
    return keeper, dog


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_stall_is_told_once_with_phase_actor_and_stack(
    tmp_path: Path, actor: subprocess.Popen[bytes], is_stopped: bool
) -> None:
    told: list[EventMessage] = []
    if is_stopped:
        actor.send_signal(signal.SIGSTOP)
    keeper, dog = watched(tmp_path, told, ["rank 1"])
    with keeper.phase("train"):
        until(lambda: bool(told))
        time.sleep(0.2)
    dog.close()
    [event] = told
    assert event.kind == "stalled"
    assert event.message.startswith("The run stands still: rank 1 at train for 0 s")
    assert (event.data["phase"], event.data["actors"]) == ("train", ["rank 1"])
    assert ("does not answer" if is_stopped else "in stuck_here") in event.data["stacks"]["rank 1"]


def test_the_driver_is_named_where_it_waits_for_nobody(tmp_path: Path) -> None:
    told: list[EventMessage] = []
    keeper, dog = watched(tmp_path, told, [])
    with keeper.phase("train"):
        until(lambda: bool(told))
    with keeper.phase("train"):
        until(lambda: len(told) == 2)
    dog.close()
    assert [event.key for event in told] == ["stalled/1", "stalled/2"]
    assert told[0].data["actors"] == ["driver"]


def test_what_takes_as_long_as_ever_is_not_told_nor_is_a_pause(tmp_path: Path) -> None:
    told: list[EventMessage] = []
    keeper, dog = watched(tmp_path, told, [])
    with keeper.phase("train"):
        pass
    with keeper.standing_still():
        time.sleep(0.3)
    dog.close()
    assert told == []
