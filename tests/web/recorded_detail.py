"""What a driver tells of a run beside its steps' numbers: rollouts, log lines, timelines. The same every time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from orchestrator.contracts.log_messages import LogLine
from orchestrator.contracts.messages import StepMessage
from orchestrator.contracts.rollout_messages import GroupMessage, IterationMessage, RolloutMessage
from orchestrator.contracts.timeline_message import TimelineColumns
from tests.server.factories import START
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import group_message, iteration_message, log_line, post, rollout_message
from tests.web.recorded_run import recorded_step, step_lengths

GROUP_SIZE = 8
STEP_S = 1.0
HOSTILE = "<img src=x onerror=alert(1)> \u202eevil <script>alert(2)</script>"
_PROMPTS = (
    "A ferry leaves the harbour with 84 passengers. At each of five stops a third of those on board get off, rounded "
    "down, and 16 get on. How many are on board when it leaves the fifth stop?",
    "The digits of a three-digit number add up to 14. Swapping the first and last digit raises it by 297. How many "
    "such numbers are there?",
    "Two candles burn at constant rates and last 5 and 7 hours. Lit together, after how long is one half as tall as "
    "the other?",
    "How many ways are there to tile a 2 by 9 strip with dominoes so that no two vertical ones touch?",
)
_SENTENCES = (
    "Let me follow the ferry stop by stop. I write b for the number on board when it arrives.\n\n",
    "Stop 1: 84 / 3 = 28 get off, so 56 stay. 56 + 16 = 72.\n",
    "Stop 2: 72 / 3 = 24 get off, so 48 stay. 48 + 16 = 64.\n",
    "Wait, is it the number who get off that is rounded down, or the number who stay?\n\n",
    "The question says a third of those on board get off, so it is the ones who get off. Good, that is what I did.\n",
    "A quick check from the other side: if 54 leave the fifth stop, 38 stayed. That agrees with stop 4.\n",
)
_TRACEBACK = """Traceback (most recent call last):
  File "trainer/rank.py", line 88, in train_step
    loss = self._forward_backward(micro_batch)
  File "trainer/train_step.py", line 141, in forward_backward
    raise NonFiniteError(f"loss is {loss} on rank {rank}")
trainer.errors.NonFiniteError: loss is NaN on rank 2, micro-batch 4"""


def recorded_iteration(iteration: int, *, num_groups: int | None = None) -> IterationMessage:
    """The rollouts that the step of the same number trained, and groups beside them that a filter left out."""
    size = len(step_lengths(iteration))
    random = Random(7000 + iteration)
    trained = [
        _group(iteration, i, range(first, min(size, first + GROUP_SIZE)), random)
        for i, first in enumerate(range(0, size, GROUP_SIZE))
    ]
    count = len(trained) + 3 if num_groups is None else num_groups
    filtered = [_filtered_group(iteration, i, random) for i in range(len(trained), count)]
    return iteration_message(iteration, trained + filtered)


def _group(iteration: int, number: int, samples: Sequence[int], random: Random) -> GroupMessage:
    rewards = [random.choice((0.0, 0.0, 1.0, round(random.uniform(0.9, 1.0), 2))) for _ in samples]
    mean = sum(rewards) / len(rewards)
    std = math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / len(rewards)) or 1.0
    rollouts = [
        _rollout(
            f"r{iteration}.{i}",
            random,
            step=iteration,
            reward=reward,
            advantage=(reward - mean) / std,
            first_policy_version=iteration,
            last_policy_version=iteration,
        )
        for i, reward in zip(samples, rewards, strict=True)
    ]
    return group_message(
        f"g{iteration}.{number}", rollouts, prompt=_PROMPTS[(iteration + number) % 4], answer="54", num_prompt_tokens=48
    )


def _filtered_group(iteration: int, number: int, random: Random) -> GroupMessage:
    reward = float(number % 2)
    rollouts = [
        _rollout(
            f"f{iteration}.{number}.{i}",
            random,
            fate="filtered",
            reason="zero_variance" if number % 3 else "truncated",
            step=None,
            reward=reward,
            advantage=None,
            truncated=number % 3 == 0,
        )
        for i in range(GROUP_SIZE)
    ]
    return group_message(f"g{iteration}.{number}", rollouts, prompt=f"{number}. {_PROMPTS[number % 4]}")


def _rollout(rollout_id: str, random: Random, **changes: object) -> RolloutMessage:
    text = "".join(random.choice(_SENTENCES) for _ in range(random.randint(2, 7))) + "The answer is 54."
    pieces = tuple(re.findall(r"\s*[A-Za-z]+|\s*\d|\s*\S|\s+", text))
    log_probs = tuple(-round(random.expovariate(4) ** 1.6 * 3, 4) for _ in pieces)
    return rollout_message(
        rollout_id,
        text=text,
        pieces=pieces,
        log_probs=log_probs,
        trainer_log_probs=tuple(round(value + random.gauss(0, 0.03), 4) for value in log_probs),
        num_tokens=len(pieces) + (40 * random.randint(0, 9)),
        **changes,
    )


def timed_step(step: int, *, num_ranks: int = 2, num_engines: int = 1) -> StepMessage:
    """A step that tells who did what when, for as long as a step takes."""
    message = recorded_step(step)
    return message.model_copy(update={"timeline": recorded_timeline(step, num_ranks, num_engines)})


def recorded_timeline(step: int, num_ranks: int, num_engines: int) -> TimelineColumns:
    """Engines generate, ranks wait for them, train, and wait for the slowest of them."""
    random = Random(step)
    generated = (0.34 + 0.08 * random.random()) * STEP_S
    spans: list[tuple[str, str, float, float]] = []
    for i in range(num_engines):
        spans.append((f"engine {i}", "push", 0.0, 0.03 * STEP_S))
        spans.append((f"engine {i}", "generate", 0.03 * STEP_S, generated - random.random() * 0.1 * STEP_S))
    spans.append(("driver", "score", generated, generated + 0.04 * STEP_S))
    spans.append(("driver", "schedule", generated + 0.04 * STEP_S, generated + 0.06 * STEP_S))
    barrier = 0.93 * STEP_S
    for i in range(num_ranks):
        at = generated + 0.06 * STEP_S
        spans.append((f"rank {i}", "log_probs", at, at + 0.06 * STEP_S))
        at += 0.07 * STEP_S
        while at < barrier - (0.08 + 0.25 * random.random()) * STEP_S:
            end = at + (0.05 + 0.04 * random.random()) * STEP_S
            spans.append((f"rank {i}", "forward_backward", at, end))
            at = end + 0.002 * STEP_S
        spans.append((f"rank {i}", "optimizer", barrier, 0.985 * STEP_S))
    spans.sort(key=lambda span: span[2])
    actor, activity, start_s, end_s = zip(*spans, strict=True)
    return TimelineColumns.model_validate({"actor": actor, "activity": activity, "start_s": start_s, "end_s": end_s})


def recorded_lines(first: int, count: int, *, source: str = "rank 0") -> list[LogLine]:
    """Lines of one process: mostly progress, now and then a warning, and one traceback among two hundred."""
    return [_line(number, source) for number in range(first, first + count)]


def _line(number: int, source: str) -> LogLine:
    at = START + timedelta(milliseconds=250 * number)
    if number % 200 == 150:
        return log_line(number, _TRACEBACK, source=source, level="error", at=at)
    if number % 40 == 20:
        text = f"engine 1 is {number % 7 + 2} updates behind; its samples are {number % 5 + 1} iterations old"
        return log_line(number, text, source=source, level="warning", at=at)
    if number % 10 == 3:
        return log_line(number, f"packed {number % 60 + 4} samples", source=source, level="debug", at=at)
    return log_line(number, f"step {number // 8}: loss {1 / (1 + number / 50):.4f}, 8,192 tokens", source=source, at=at)


def record_detail(server: LiveServer, run: LaunchedRun, numbers: Sequence[int]) -> None:
    """Steps with timelines, and their iterations with rollouts."""
    for number in numbers:
        answer = server.record(run, timed_step(number))
        assert answer.status_code == 200, answer.text
        answer = post(server, run, "rollouts", recorded_iteration(number))
        assert answer.status_code == 200, answer.text


def record_lines(server: LiveServer, run: LaunchedRun, lines: Sequence[LogLine]) -> None:
    for first in range(0, len(lines), 2000):
        answer = post(server, run, "logs", *lines[first : first + 2000])
        assert answer.status_code == 200, answer.text
