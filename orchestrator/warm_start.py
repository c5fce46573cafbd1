"""Supervised steps before reinforcement: they end when greedy answers to held-out prompts are good enough.

train eval_every steps on right answers ──► push weights ──► mean reward of held-out prompts ──► enough? done
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from orchestrator.checkpointing.checkpoints import Checkpoints, Resumption
from orchestrator.checkpointing.training_state import TrainingState
from orchestrator.contracts.messages import EventMessage
from orchestrator.contracts.rollout import PromptSource, Reporter, Reward, RolloutEngine, Sampling
from orchestrator.contracts.warm_start_spec import SftWarmStartSpec
from orchestrator.reporting.timekeeper import Timekeeper
from orchestrator.rollouts.rollout_round import Decode
from orchestrator.step_runner import PhaseGoal, StepRunner
from orchestrator.train_items import supervised_item
from trainer.contracts.metric import Metric, mean
from trainer.contracts.span import Activity

_log = logging.getLogger(__name__)

EncodeAnswer = Callable[[str], Sequence[int]]
"""An answer's text → its tokens, with the one that ends it."""


class HeldOutEval:
    """The mean reward of greedy answers to prompts that are never trained."""

    def __init__(
        self,
        *,
        source: PromptSource,
        engine: RolloutEngine,
        reward: Reward,
        decode: Decode,
        num_prompts: int,
        max_new_tokens: int,
        time: Timekeeper,
    ) -> None:
        self._time = time
        self._prompts = source.held_out(num_prompts)
        self._engine = engine
        self._reward = reward
        self._decode = decode
        self._sampling = Sampling(max_new_tokens=max_new_tokens, temperature=0.0, seed=0)

    def measure(self) -> Metric:
        """Ask all of them. Unscorable answers are left out; without any other there is nothing to measure."""
        with self._time.phase("evaluate"):
            completions = self._engine.generate([prompt.token_ids for prompt in self._prompts], self._sampling)
        self._time.add(self._engine.take_spans(), Activity.EVALUATE)
        with self._time.phase("score", Activity.EVALUATE):
            scores = [
                self._reward.score(prompt, self._decode(completion.token_ids.tolist()))
                for prompt, completion in zip(self._prompts, completions, strict=True)
            ]
        judged = [score for score in scores if score is not None]
        return mean(sum(judged), len(judged))


class WarmStart:
    """The supervised steps of an attempt."""

    def __init__(
        self,
        spec: SftWarmStartSpec,
        *,
        goal: PhaseGoal,
        source: PromptSource,
        encode_answer: EncodeAnswer,
        steps: StepRunner,
        held_out: HeldOutEval,
        reporter: Reporter,
        checkpoints: Checkpoints,
    ) -> None:
        self._spec = spec
        self._goal = goal
        self._source = source
        self._encode_answer = encode_answer
        self._steps = steps
        self._held_out = held_out
        self._reporter = reporter
        self._checkpoints = checkpoints

    def run(self, resumption: Resumption | None = None) -> None:
        """Train until the held-out reward is reached, at most max_steps; a policy that has it needs no step.

        resumption: where an earlier attempt stopped in this phase.

        Raises:
            StopRequestedError: the server wants the attempt to end.
        """
        first, measured = self._begin() if resumption is None else self._go_on(resumption)
        self._steps.restart_clock()
        for step in range(first, self._spec.max_steps):
            if self._is_reached(measured):
                break
            self._tell_activity(step, measured)
            measured = self._train_step(step, measured)
            self._checkpoints.save_if_due(self._state(step + 1, measured))
        self._tell_end(measured)

    def _begin(self) -> tuple[int, Metric]:
        self._steps.begin(self._goal)
        self._steps.push_weights()
        return 0, self._held_out.measure()

    def _go_on(self, resumption: Resumption) -> tuple[int, Metric]:
        state = resumption.state
        self._steps.resume(
            self._goal,
            directory=resumption.directory,
            num_steps=state.num_steps,
            policy_version=state.policy_version,
        )
        self._source.go_to(state.source)
        return state.iteration, mean(*(state.held_out_reward or (0.0, 0.0)))

    def _state(self, next_step: int, measured: Metric) -> TrainingState:
        return TrainingState(
            phase=self._goal.phase,
            iteration=next_step,
            num_steps=self._steps.num_steps,
            policy_version=self._steps.policy_version,
            source=self._source.position(),
            held_out_reward=(measured.total, measured.count),
        )

    def _train_step(self, step: int, measured: Metric) -> Metric:
        """Train one step and measure when it is time; returns the newest measurement."""
        version = self._steps.policy_version
        items = [
            supervised_item(prompt, self._encode_answer(prompt.answer), policy_version=version)
            for prompt in self._source.take(self._spec.batch.global_batch_size)
        ]
        trained = self._steps.train(items, iteration=step)
        metrics: dict[str, Metric] = {}
        if (step + 1) % self._spec.eval_every == 0 or step + 1 == self._spec.max_steps:
            metrics |= self._steps.push_weights()
            stopwatch = self._steps.time.stopwatch()
            measured = self._held_out.measure()
            metrics |= {"eval/reward": measured, "perf/eval_s": mean(stopwatch.seconds, 1)}
        self._steps.report(trained, metrics=metrics)
        return measured

    def _is_reached(self, measured: Metric) -> bool:
        return measured.value is not None and measured.value >= self._spec.until_reward

    def _tell_activity(self, step: int, measured: Metric) -> None:
        self._reporter.activity(
            f"warm start, step {step} of at most {self._spec.max_steps}, held-out reward {_shown(measured)} of "
            f"{self._spec.until_reward:.2f}",
            num_steps=self._steps.num_steps,
            total_steps=None,
        )

    def _tell_end(self, measured: Metric) -> None:
        reached = self._is_reached(measured)
        message = (
            f"Warm start ends after {self._steps.num_steps} steps: held-out reward {_shown(measured)} "
            f"{'has reached' if reached else 'is still below'} until_reward={self._spec.until_reward}"
        )
        _log.log(logging.INFO if reached else logging.WARNING, message)
        self._reporter.event(
            EventMessage(
                key="warm_start_ended",
                kind="warm_start_ended",
                at=datetime.now(UTC),
                message=message,
                data={"num_steps": self._steps.num_steps, "reward": measured.value, "reached": reached},
            )
        )


def _shown(measured: Metric) -> str:
    return "unknown" if measured.value is None else f"{measured.value:.2f}"
