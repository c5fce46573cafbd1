"""Parts of the loop that need no Ray, no torch and no server. They implement the protocols of the contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage, StateReport, StepMessage
from orchestrator.contracts.rollout import Completion, Prompt, Sampling, SourcePosition
from orchestrator.contracts.rollout_messages import IterationMessage
from trainer.contracts.metric import mean
from trainer.contracts.policy_trainer import GradientNoise, LogProbsOf, StepRecord, StepStatus, Weights
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.contracts.span import ActorSpans
from trainer.contracts.trainer_spec import PhaseSpec

EOS = 9
RIGHT, WRONG = (5, EOS), (6, 7, EOS)
"""What `FakeEngine` answers, and `decode` and `FakeReward` understand."""


def decode(token_ids: Sequence[int]) -> str:
    return " ".join(str(token) for token in token_ids if token != EOS)


def pieces(token_ids: Sequence[int]) -> list[str]:
    return [str(token) for token in token_ids]


def encode_answer(answer: str) -> tuple[int, ...]:
    return (int(answer), EOS)


class FakeSource:
    """Prompts 0, 1, 2, …; every right answer is "5"."""

    def __init__(self) -> None:
        self.num_taken = 0
        self.num_left_out = 2

    def take(self, count: int) -> Sequence[Prompt]:
        first, self.num_taken = self.num_taken, self.num_taken + count
        return [_prompt(f"p{i}", i % 3) for i in range(first, first + count)]

    def position(self) -> SourcePosition:
        return SourcePosition(next_index=self.num_taken)

    def go_to(self, position: SourcePosition) -> None:
        self.num_taken = position.next_index

    def held_out(self, count: int) -> Sequence[Prompt]:
        return [_prompt(f"h{i}", 0) for i in range(count)]


def _prompt(prompt_id: str, extra_tokens: int) -> Prompt:
    token_ids = (1, 2, *[3] * extra_tokens)
    return Prompt(prompt_id=prompt_id, text="?", token_ids=token_ids, answer="5", task="fake", entry={})


class FakeReward:
    """1 for "5", 0 for other answers, None for "8"."""

    def score(self, prompt: Prompt, text: str) -> float | None:
        return None if text == "8" else float(text == "5")


class FakeEngine:
    """Answers what `plan` says: for each call of generate, a function from the place in the batch to the tokens."""

    def __init__(self, plan: Iterator[Callable[[int], Sequence[int]]]) -> None:
        self._plan = plan
        self.samplings: list[Sampling] = []
        self.versions: list[int] = []
        self.before_generate: Callable[[], None] = lambda: None

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> Sequence[Completion]:
        self.before_generate()
        self.samplings.append(sampling)
        answer = next(self._plan)
        return [self._completion(answer(i)) for i in range(len(prompts))]

    def _completion(self, token_ids: Sequence[int]) -> Completion:
        return Completion(
            token_ids=np.array(token_ids, dtype=np.int64),
            log_probs=np.full(len(token_ids), -0.5, dtype=np.float32),
            truncated=token_ids[-1] != EOS,
            policy_version=self.versions[-1],
        )

    def push_weights(self, weights: Weights, policy_version: int) -> None:
        self.versions.append(policy_version)

    def take_spans(self) -> ActorSpans:
        return {}

    def close(self) -> None:
        pass


class FakeTrainer:
    """Keeps what it is given. Each step moves the weights unless `status` says otherwise."""

    def __init__(self) -> None:
        self.phases: list[PhaseSpec] = []
        self.calls: list[tuple[Sequence[TrainSample], DpSchedule]] = []
        self.asked: list[tuple[LogProbsOf, list[int], DpSchedule]] = []
        self.status = StepStatus.TRAINED
        self.noise: GradientNoise | None = None
        self.non_finite: tuple[tuple[int, int], ...] = ()
        self._position = 0

    def hf_config(self) -> Mapping[str, Any]:
        return {}

    def start_phase(self, phase: PhaseSpec) -> None:
        self.phases.append(phase)
        self._position = 0

    def train(self, *, samples: Sequence[TrainSample], schedule: DpSchedule) -> list[StepRecord]:
        self.calls.append((samples, schedule))
        records = []
        for k, size in enumerate(schedule.global_batch_sizes):
            before = self._position
            self._position += size if self.status.moved_weights else 0
            shape = schedule.step(k).micro_batches
            lengths = [samples[i].num_tokens for i in schedule.step_samples(k)]
            records.append(
                StepRecord(
                    status=self.status,
                    global_batch_size=size,
                    lr=1e-3,
                    lr_position_before=before,
                    lr_position_after=self._position,
                    train_s=0.01,
                    micro_batch_s=tuple(tuple(0.001 * len(micro_batch) for micro_batch in rank) for rank in shape),
                    num_positions=tuple(tuple(sum(lengths[i] for i in own) for own in rank) for rank in shape),
                    metrics={"train/loss": mean(1.0, size)},
                    noise=self.noise,
                    non_finite=self.non_finite,
                )
            )
        return records

    def log_probs(
        self, *, samples: Sequence[TrainSample], schedule: DpSchedule, of: LogProbsOf
    ) -> list[npt.NDArray[np.float32]]:
        """−0.25 for every loss token by the policy, −1 by the reference."""
        self.asked.append((of, [one.num_tokens for one in samples], schedule))
        value = {LogProbsOf.POLICY: -0.25, LogProbsOf.REFERENCE: -1.0}[of]
        return [np.where(one.loss_mask, value, 0.0).astype(np.float32) for one in samples]

    def begin_save(self, directory: str) -> None:
        (Path(directory) / "trainer.json").write_text(str(self._position))

    def finish_save(self) -> None:
        pass

    def load(self, directory: str) -> None:
        self._position = int((Path(directory) / "trainer.json").read_text())

    def weights(self) -> Weights:
        return {"w": np.zeros(1, dtype=np.float32)}

    def take_spans(self) -> ActorSpans:
        return {}

    def close(self) -> None:
        pass


class FakeReporter:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[StepMessage] = []
        self.events: list[EventMessage] = []
        self.iterations: list[IterationMessage] = []
        self.checkpoints: list[CheckpointMessage] = []
        self.activities: list[tuple[str, int, int | None]] = []
        self.stop_requested = False
        self.pause_requested = False
        self.while_paused: Callable[[], None] = lambda: None
        self.on_step: Callable[[StepMessage], None] = lambda message: None

    def step(self, message: StepMessage) -> None:
        self.steps.append(message)
        self.on_step(message)

    def event(self, message: EventMessage) -> None:
        self.events.append(message)

    def iteration(self, message: IterationMessage) -> None:
        self.iterations.append(message)

    def checkpoint(self, message: CheckpointMessage) -> None:
        self.checkpoints.append(message)

    def wait_while_paused(self) -> None:
        if self.pause_requested:
            self.pause_requested = False
            self.while_paused()

    def activity(self, text: str, *, num_steps: int, total_steps: int | None) -> None:
        self.activities.append((text, num_steps, total_steps))

    def finish(self, report: StateReport) -> None:
        pass
