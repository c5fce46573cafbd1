"""A run outlives its server, and ends when it is told to, with everything that belongs to it."""

import time

import pytest

from server.supervisor import processes
from tests.e2e.swell_stack import TRAINING_WITHIN_S, SwellStack

pytestmark = pytest.mark.stack


def test_a_run_goes_on_while_its_server_is_killed_and_no_step_is_missing_or_doubled(stack: SwellStack) -> None:
    run = stack.submit(name="survivor", iterations=60)
    stack.wait_until_it_trains(run, num_steps=10)
    stack.kill_server()
    driver_pids = processes.pids(stack.processes_of(run))
    time.sleep(3)
    stack.up()
    seen = stack.get(f"/runs/{run}")["num_steps"]
    stack.wait_for(lambda: stack.state(run) == "succeeded", TRAINING_WITHIN_S, "the run succeeds")
    assert driver_pids, "the driver lived on without a server"
    steps = stack.steps(run)
    assert [step["step"] for step in steps] == list(range(4 + 60 * 3))
    assert {step["attempt"] for step in steps} == {1}
    assert seen < len(steps), "the server was back before the run ended"
    total = stack.get("/metrics/query", run=run, name="train/loss", x="samples")["series"][0]
    assert total["x"][-1] == 4 * 8 + 60 * 31


def test_cancel_ends_a_run_with_all_its_processes_and_the_next_one_starts(stack: SwellStack) -> None:
    run = stack.submit(name="endless", iterations=100_000)
    following = stack.submit(name="following", iterations=100_000)
    stack.wait_until_it_trains(run, num_steps=3)
    stack.post(f"/runs/{run}/pause", {})
    stack.wait_for(lambda: stack.state(run) == "paused", TRAINING_WITHIN_S, "the run is paused")
    # The word that it waits may overtake the last step's record.
    time.sleep(2)
    told = len(stack.steps(run))
    assert stack.processes_of(run), "a paused run keeps its processes"
    time.sleep(2)
    assert len(stack.steps(run)) == told
    stack.post(f"/runs/{run}/resume", {})
    stack.wait_for(lambda: len(stack.steps(run)) > told, TRAINING_WITHIN_S, "the run goes on")
    assert stack.state(following) == "queued"
    assert "endless" in stack.get(f"/runs/{following}")["reason"]
    refused = stack.swell("down")
    assert refused.code == 1
    assert "endless" in refused.err
    mine = stack.processes_of(run)
    assert len(mine) >= 4, "a driver, two trainers and an engine at the least"

    cancelled = stack.swell("cancel", "endless", "--json")
    assert (cancelled.code, cancelled.json["state"]) == (0, "cancelled")
    assert [process.pid for process in mine if processes.is_alive(process)] == []
    assert stack.processes_of(run) == []

    stack.wait_until_it_trains(following)
    mine = stack.processes_of(following)
    assert stack.swell("cancel", "following", "--kill", "--json").json["state"] == "cancelled"
    assert [process.pid for process in mine if processes.is_alive(process)] == []


def test_a_driver_that_is_killed_fails_its_run_and_leaves_nothing(stack: SwellStack) -> None:
    run = stack.submit(name="beheaded", iterations=100_000, limits={"max_restarts": 0})
    stack.wait_for(lambda: len(stack.processes_of(run)) > 5, TRAINING_WITHIN_S, "the driver has actors")
    mine = stack.processes_of(run)
    drivers = [process for process in mine if "orchestrator.main" in process.cmdline()]
    assert drivers
    processes.kill(drivers)
    stack.wait_for(lambda: stack.state(run) == "failed", 20, "the run fails")
    assert "last report" in stack.get(f"/runs/{run}")["reason"]
    stack.wait_for(lambda: not any(map(processes.is_alive, mine)), 20, "all its processes are gone")


def trained_by(stack: SwellStack, run: str, attempt: int) -> int:
    """Steps that the run shows of this attempt."""
    return sum(step["attempt"] == attempt for step in stack.steps(run))


def test_a_run_whose_process_dies_goes_on_from_its_checkpoint_as_if_it_had_not(stack: SwellStack) -> None:
    settings = {"iterations": 30, "checkpoint": {"every_steps": 4}, "limits": {"max_restarts": 3}}
    unbroken = stack.submit(name="unbroken", **settings)
    run = stack.submit(name="broken", **settings)
    stack.wait_for(lambda: stack.state(unbroken) == "succeeded", 2 * TRAINING_WITHIN_S, "the first run ends")
    # One rank, all engines, the driver.
    for attempt, victim in enumerate(("RankActor", "Replica", "orchestrator.main"), start=1):
        # Each is killed after the first checkpoint of reinforcement, and long before the end.
        stack.wait_for(lambda n=attempt: trained_by(stack, run, n) >= 8, TRAINING_WITHIN_S, "the attempt trains")
        mine = stack.processes_of(run, attempt)
        processes.kill([process for process in mine if victim in " ".join(process.cmdline())][:1])
    stack.wait_for(lambda: stack.state(run) == "succeeded", 3 * TRAINING_WITHIN_S, "the fourth attempt ends")

    steps = stack.steps(run)
    assert [step["step"] for step in steps] == list(range(4 + 30 * 3))
    assert {step["attempt"] for step in steps} == {1, 2, 3, 4}
    for name in ("train/loss", "train/grad_norm", "reward/mean", "global_batch_size", "lr"):
        assert stack.values(run, name) == stack.values(unbroken, name), name
    for attempt, cause in ((1, "the process ended"), (2, "an engine replica died")):
        lines = stack.get(f"/runs/{run}/logs", attempt=attempt, level="error", source="driver", limit=2000)["items"]
        assert any("the attempt failed" in line["text"] and cause in line["text"] for line in lines), cause
    for rank in ("rank 0", "rank 1"):
        assert stack.get(f"/runs/{run}/logs", attempt=1, source=rank)["items"], "also of the one that was killed"
    kinds = [event["kind"] for event in stack.get(f"/runs/{run}/events")["items"]]
    assert {"checkpoint", "resumed", "run.queued"} <= set(kinds)
    model = stack.home / "model"
    assert stack.swell("export-model", run, str(model)).code == 0
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in model.iterdir()}


def test_a_second_server_of_one_home_only_says_where_the_first_one_is(stack: SwellStack) -> None:
    second = stack.swell("up", "--no-browser")
    assert second.code == 0
    assert f"{stack.url}/login?code=" in second.out
