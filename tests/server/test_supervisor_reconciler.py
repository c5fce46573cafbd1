from __future__ import annotations

import threading
from pathlib import Path

import pytest

from orchestrator.contracts.run_state import RunState, RunTrigger
from server.supervisor.jobs import JobError
from server.supervisor.ray_head import HeadError
from server.supervisor.view import JobState, JobView
from tests.server.supervised_world import SPEC, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_queued_run_gets_a_job_that_knows_all_it_needs(world: World) -> None:
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING
    launch = world.cluster.launches["run_A-1"]
    assert (launch.run_id, launch.attempt, launch.ingest_token) == ("run_A", 1, "secret")
    assert launch.spec == SPEC
    assert world.runs.jobs["run_A", 1] == "run_A-1"


def test_runs_follow_one_another(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.rounds()
    assert world.runs.state("run_B") is RunState.QUEUED
    assert world.runs.reasons["run_B"] == "waits for run_A to end; this server runs 1 at a time"
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.rounds()
    assert world.runs.state("run_B") is RunState.QUEUED, "the driver of run_A is still there"
    world.cluster.end("run_A-1")
    world.rounds(2)
    assert world.runs.state("run_B") is RunState.STARTING


def test_a_driver_that_dies_fails_its_run_with_its_last_words(world: World) -> None:
    world.running("run_A")
    world.cluster.end("run_A-1", "exit code 1: no wood", has_processes=True)
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    assert world.runs.reasons["run_A"] == "exit code 1: no wood"
    world.rounds()
    assert not world.cluster.jobs["run_A-1"].has_processes


def test_a_run_that_is_deleted_as_soon_as_it_ended_leaves_no_process_and_stops_nobody(world: World) -> None:
    world.runs.add("run_A")
    world.runs.add("run_B")
    world.rounds(1)
    world.cluster.end("run_A-1", "exit code 1", has_processes=True)
    del world.runs.records["run_A"]
    world.rounds(2)
    assert not world.cluster.jobs["run_A-1"].has_processes
    assert world.runs.state("run_B") is RunState.STARTING


def test_a_run_that_may_restart_goes_on_when_nothing_is_left_of_its_last_attempt(world: World) -> None:
    world.runs.max_restarts = 1
    world.running("run_A")
    world.cluster.end("run_A-1", "killed", has_processes=True)
    world.rounds(1)
    assert world.runs.state("run_A") is RunState.QUEUED
    world.rounds(2)
    assert not world.cluster.jobs["run_A-1"].has_processes
    assert world.runs.state("run_A") is RunState.STARTING
    assert world.runs.jobs["run_A", 2] == "run_A-2"
    world.runs.heartbeat("run_A")
    world.cluster.end("run_A-2", "killed again")
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED


def test_silence_loses_a_run_and_its_next_heartbeat_brings_it_back(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST
    world.runs.heartbeat("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING


def test_a_run_that_stays_lost_fails_and_its_job_is_cleared_away(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(31)
    world.rounds()
    world.clock.pass_s(280)
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    world.clock.pass_s(5)
    world.rounds()
    assert world.cluster.alive_jobs() == []


def test_a_graceful_stop_waits_for_the_driver_then_stops_the_job_then_kills_what_is_left(world: World) -> None:
    world.cluster.ignores_stop = True
    world.running("run_A")
    world.runs.cancel("run_A")
    world.clock.pass_s(9)
    world.rounds()
    assert world.cluster.alive_jobs() == ["run_A-1"]
    world.clock.pass_s(2)
    world.rounds()
    assert world.runs.state("run_A") is RunState.STOPPING, "Ray did not end it"
    world.clock.pass_s(6)
    world.rounds(2)
    assert world.runs.state("run_A") is RunState.CANCELLED
    assert world.cluster.alive_jobs() == []


def test_a_kill_stops_the_job_at_once(world: World) -> None:
    world.running("run_A")
    world.runs.cancel("run_A", "kill")
    world.rounds(2)
    assert world.runs.state("run_A") is RunState.CANCELLED


def test_a_run_that_is_stopped_before_its_job_was_there_ends(world: World) -> None:
    world.cluster.refuse = JobError("Ray is busy")
    world.runs.add("run_A")
    world.rounds()
    world.runs.cancel("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.CANCELLED


def test_a_server_that_comes_back_adopts_a_run_and_does_not_blame_it_for_the_silence(world: World) -> None:
    world.running("run_A")
    world.clock.pass_s(3600)
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING
    assert len(world.cluster.launches) == 1
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST


def test_a_server_that_comes_back_clears_away_the_job_of_a_run_that_ended_meanwhile(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.clock.pass_s(60)
    world.server = world.new_server()
    world.rounds()
    assert world.cluster.alive_jobs() == []


def test_a_head_that_died_fails_its_runs(world: World) -> None:
    world.running("run_A")
    world.cluster.jobs.clear()
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED


def test_an_attempt_whose_job_was_not_submitted_is_submitted_by_the_next_server(world: World) -> None:
    world.cluster.refuse = JobError("Ray is busy")
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING
    world.cluster.refuse = None
    world.server = world.new_server()
    world.rounds()
    assert world.cluster.launches["run_A-1"].ingest_token == "secret"


def test_an_attempt_of_which_nothing_was_kept_fails_and_says_what_to_do(world: World) -> None:
    world.runs.add("run_A")
    world.runs.launch("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.FAILED
    assert "Submit the run again" in (world.runs.reasons["run_A"] or "")


def test_a_run_waits_for_a_head_that_does_not_start_and_says_so(world: World) -> None:
    world.cluster.refuse = HeadError("no Ray head came up")
    world.runs.add("run_A")
    world.rounds()
    assert world.runs.state("run_A") is RunState.QUEUED
    assert world.runs.reasons["run_A"] == "waits for Ray: no Ray head came up"
    world.cluster.refuse = None
    world.rounds()
    assert world.runs.state("run_A") is RunState.STARTING


def test_a_run_whose_turn_it_is_waits_for_nobody_while_ray_starts(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.rounds()
    assert world.runs.reasons["run_B"] == "waits for run_A to end; this server runs 1 at a time"
    told: list[str | None] = []
    world.cluster.on_prepare = lambda: told.append(world.runs.reasons["run_B"])
    world.runs.apply("run_A", RunTrigger.SUCCEED)
    world.cluster.end("run_A-1")
    world.rounds(2)
    assert (told, world.runs.state("run_B")) == ([None], RunState.STARTING)


def test_a_run_says_that_it_waits_for_ray_until_ray_is_there(world: World) -> None:
    world.cluster.refuse = HeadError("no Ray head came up")
    world.runs.add("run_A")
    world.rounds()
    told: list[str | None] = []
    world.cluster.on_prepare = lambda: told.append(world.runs.reasons["run_A"])
    world.rounds(2)
    assert told == ["waits for Ray: no Ray head came up"] * 2


def test_what_a_run_waits_for_is_known_whatever_the_run_before_it_is_called(world: World) -> None:
    world.running("Ray: a run")
    world.runs.add("run_B")
    world.rounds()
    assert world.runs.reasons["run_B"] == "waits for Ray: a run to end; this server runs 1 at a time"
    told: list[str | None] = []
    world.cluster.on_prepare = lambda: told.append(world.runs.reasons["run_B"])
    world.runs.apply("Ray: a run", RunTrigger.SUCCEED)
    world.cluster.end("Ray: a run-1")
    world.rounds(2)
    assert told == [None]


def test_jobs_of_others_are_left_alone(world: World) -> None:
    world.cluster.jobs["somebody-else-7"] = JobView(state=JobState.ALIVE)
    world.server = world.new_server()
    world.clock.pass_s(1000)
    world.rounds(3)
    assert world.cluster.alive_jobs() == ["somebody-else-7"]


def test_the_thread_works_when_it_is_woken_and_ends_when_it_is_told(world: World) -> None:
    world.server = world.new_server()
    world.server.start()
    world.runs.add("run_A")
    world.server.wake()
    wait = threading.Event()
    for _ in range(100):
        if "run_A-1" in world.cluster.launches:
            break
        wait.wait(0.05)
    world.server.stop()
    assert "run_A-1" in world.cluster.launches


def test_a_pause_that_no_step_gives_way_to_is_withdrawn_and_may_be_asked_for_again(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    for _ in range(22):
        world.clock.pass_s(29)
        world.runs.heartbeat("run_A")
        world.rounds()
    assert world.runs.state("run_A") is RunState.RUNNING
    assert world.runs.messages["run_A"] == "has not paused within 600 s, and goes on"
    assert world.runs.reasons["run_A"] is None


def test_a_driver_that_could_not_hear_of_a_pause_has_its_whole_time(world: World) -> None:
    world.running("run_A")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    world.clock.pass_s(3600)
    world.server = world.new_server()
    world.rounds()
    assert world.runs.state("run_A") is RunState.PAUSING


def test_a_paused_run_stays_so_while_its_driver_is_heard_and_the_next_run_waits(world: World) -> None:
    world.running("run_A")
    world.runs.add("run_B")
    world.runs.apply("run_A", RunTrigger.PAUSE)
    world.runs.apply("run_A", RunTrigger.PAUSED)
    for _ in range(200):
        world.clock.pass_s(29)
        world.runs.heartbeat("run_A")
        world.rounds()
    assert (world.runs.state("run_A"), world.runs.state("run_B")) == (RunState.PAUSED, RunState.QUEUED)
    world.clock.pass_s(31)
    world.rounds()
    assert world.runs.state("run_A") is RunState.LOST
