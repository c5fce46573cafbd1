"""Lets requests meet at the same moment: `python -m tests.drills.races --rounds 200`.

A run that is cancelled while it ends has one terminal state and one terminal event; equal submissions under one key
make one run; a run that is deleted while it is recorded is either there or gone.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from orchestrator.contracts.run_state import RunState, RunTrigger
from tests.drills.own_home import own_home
from tests.server.factories import START, batch_json, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server

OUTCOMES = ("succeeded", "failed", "stopped")
_TERMINAL = {f"run.{state}" for state in RunState if state.is_terminal}
_NUM_EQUAL_POSTS = 20


def cancel_against_finish(live: LiveServer, *, rounds: int) -> tuple[list[str], Counter[str]]:
    """Cancel runs while their drivers report how they ended; problems, and how many ended in which state."""
    problems, states = [], Counter[str]()
    for index in range(rounds):
        run = live.launch(name=f"race {index}")
        live.record(run, step_message(0)).raise_for_status()
        outcome = OUTCOMES[index % len(OUTCOMES)]
        answers = _meet([lambda run=run: _cancel(live, run), lambda run=run, how=outcome: _report(live, run, how)])
        # As the supervisor does when the process is gone.
        live.services.runs.apply(run.id, RunTrigger.STOPPED)
        problems += [f"{run.id}: {a.status_code} {a.text}" for a in answers if a.status_code not in (200, 409)]
        problems += _terminal_problems(live, run)
        states[live.get(f"/runs/{run.id}")["state"]] += 1
    return problems, states


def launch_against_cancel(live: LiveServer, *, rounds: int) -> list[str]:
    """Cancel runs while the supervisor launches them: cancelled without an attempt, or stopping with one."""
    problems = []
    for index in range(rounds):
        run_id = live.submit(name=f"launch {index}")
        cancelled, launched = _meet(
            [
                lambda run_id=run_id: live.http.post(f"/api/v1/runs/{run_id}/cancel"),
                lambda run_id=run_id: live.services.runs.launch(run_id),
            ]
        )
        state = live.get(f"/runs/{run_id}")["state"]
        expected = "cancelled" if launched is None else "stopping"
        if cancelled.status_code != 200 or state != expected:
            problems.append(f"{run_id}: {cancelled.status_code}, {state} in place of {expected}")
    return problems


def equal_posts(live: LiveServer, *, rounds: int) -> list[str]:
    """Submit the same run under the same key twenty times at once."""
    problems = []
    for index in range(rounds):
        name = f"equal {index}"
        headers = {"Idempotency-Key": name}
        post = lambda name=name, headers=headers: live.http.post(  # noqa: E731
            "/api/v1/runs", json=spec_json(name=name), headers=headers
        )
        answers = _meet([post] * _NUM_EQUAL_POSTS)
        if {(answer.status_code, answer.text) for answer in answers} != {(201, answers[0].text)}:
            problems.append(f"{name}: {Counter(answer.status_code for answer in answers)}")
        if (found := live.get("/runs", name=name)["total"]) != 1:
            problems.append(f"{name}: {found} runs")
    return problems


def delete_against_record(live: LiveServer, *, rounds: int) -> list[str]:
    """Delete runs that have ended while a late batch of theirs arrives: it is taken, or it finds no run."""
    problems = []
    for index in range(rounds):
        run = live.launch(name=f"deleted {index}")
        live.record(run, step_message(0)).raise_for_status()
        _report(live, run, "failed").raise_for_status()
        deleted, recorded = _meet(
            [
                lambda run=run: live.http.delete(f"/api/v1/runs/{run.id}"),
                lambda run=run: live.record(run, step_message(1)),
            ]
        )
        if deleted.status_code != 202 or recorded.status_code not in (200, 401, 404):
            problems.append(f"{run.id}: delete {deleted.status_code}, record {recorded.status_code} {recorded.text}")
        if live.http.get(f"/api/v1/runs/{run.id}").status_code != 404:
            problems.append(f"{run.id}: still told after it was deleted")
        late = live.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=batch_json(step_message(2)))
        if late.status_code != 404:
            problems.append(f"{run.id}: a batch for a deleted run is {late.status_code}")
    return problems


def _terminal_problems(live: LiveServer, run: LaunchedRun) -> list[str]:
    told = live.get(f"/runs/{run.id}")
    kinds = [event["kind"] for event in live.get(f"/runs/{run.id}/events")["items"]]
    terminal = [kind for kind in kinds if kind in _TERMINAL]
    if terminal != [f"run.{told['state']}"] or told["ended_at"] is None:
        return [f"{run.id}: is {told['state']}, ended at {told['ended_at']}, after {kinds}"]
    return []


def _cancel(live: LiveServer, run: LaunchedRun) -> httpx.Response:
    return live.http.post(f"/api/v1/runs/{run.id}/cancel")


def _report(live: LiveServer, run: LaunchedRun, outcome: str) -> httpx.Response:
    body = {"attempt": run.attempt, "outcome": outcome, "at": START.isoformat()}
    return live.http.post(f"/api/v1/runs/{run.id}/state", json=body, headers=run.headers)


def _meet(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each call returns; all begin at the same moment."""
    barrier = threading.Barrier(len(calls))

    def begin(call: Callable[[], Any]) -> Any:
        barrier.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    with own_home(options.database) as (home, url), running_server(home, database_url=url) as live:
        problems, states = cancel_against_finish(live, rounds=options.rounds)
        problems += launch_against_cancel(live, rounds=options.rounds)
        problems += equal_posts(live, rounds=max(1, options.rounds // 10))
        problems += delete_against_record(live, rounds=options.rounds)
    found = "\n".join(f"  {problem}" for problem in problems) or "  one end each, one run for each key"
    sys.stdout.write(f"races: {options.rounds} rounds each; cancel against finish ended {dict(states)}\n{found}\n")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
