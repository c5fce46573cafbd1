"""Our loop on the benchmark's model and prompts: real ranks, real engines. Prints one line of JSON.

python -m bench.train_ours MODEL_DIR PROMPTS_FILE MAX_NEW_TOKENS NUM_STEPS NUM_WARM_UP
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ray

from bench.step_parts import PARTS, parts_s
from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.checkpointing.checkpoints import Checkpoints
from orchestrator.contracts.algorithm_spec import AdvantageEstimator
from orchestrator.contracts.batch_spec import AllBatchSpec
from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage, Phase, StateReport, StepMessage
from orchestrator.contracts.recording_spec import RecordingSpec
from orchestrator.contracts.rollout import Prompt, SourcePosition
from orchestrator.contracts.rollout_messages import IterationMessage
from orchestrator.contracts.rollout_spec import FilterSpec, RolloutSpec, ZeroVariancePolicy
from orchestrator.costs.cost_model import CostModel
from orchestrator.engines.transformers_engine import TransformersEngine
from orchestrator.geometry import StepGeometry
from orchestrator.loop import IterationPlan, TrainingLoop
from orchestrator.rollouts.advantages import estimate_of
from orchestrator.rollouts.iteration_record import IterationRecorder
from orchestrator.rollouts.rollout_round import Roller
from orchestrator.rollouts.tokenizer import TextTokenizer
from orchestrator.step_runner import PhaseGoal, StepRunner
from trainer.architecture import load_hf_config
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import ClippedLossSpec
from trainer.contracts.model_spec import HuggingFaceModelSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.contracts.trainer_spec import PhaseSpec, TrainerSpec
from trainer.ray_trainer import RayPolicyTrainer

PROMPTS_PER_STEP, GROUP_SIZE = 8, 8
CORES = os.cpu_count() or 1
TOKEN_CAP = 4096
LEARNING_RATE = 1e-9
"""So small that the policy, and with it the lengths of its answers, stays what it is."""


class ListedPrompts:
    """The benchmark's prompts, one after the other."""

    num_left_out = 0

    def __init__(self, texts: Sequence[str], tokenizer: TextTokenizer) -> None:
        self._texts, self._tokenizer, self._next = texts, tokenizer, 0

    def take(self, count: int) -> Sequence[Prompt]:
        first, self._next = self._next, self._next + count
        return [self._prompt(i) for i in range(first, self._next)]

    def held_out(self, count: int) -> Sequence[Prompt]:
        return [self._prompt(-i - 1) for i in range(count)]

    def position(self) -> SourcePosition:
        return SourcePosition(next_index=self._next)

    def go_to(self, position: SourcePosition) -> None:
        self._next = position.next_index

    def _prompt(self, index: int) -> Prompt:
        text = self._texts[index]
        token_ids = tuple(self._tokenizer.backend(text)["input_ids"])
        return Prompt(prompt_id=str(index), text=text, token_ids=token_ids, answer="", task="bench", entry={})


class EvenIds:
    """The share of even token ids, as the peer has it: cheap, and it varies."""

    def score(self, prompt: Prompt, text: str) -> float:  # noqa: ARG002  # a reward is given both
        ids = [int(word[1:]) for word in text.split()]
        return sum(i % 2 == 0 for i in ids) / max(1, len(ids))


class KeptSteps:
    """Keeps when each step was told, and what it said."""

    stop_requested = pause_requested = False

    def __init__(self) -> None:
        self.steps: list[tuple[float, StepMessage]] = []

    def step(self, message: StepMessage) -> None:
        # The journal would write it: the cost of a record belongs to the step.
        message.model_dump_json()
        self.steps.append((time.perf_counter(), message))

    def event(self, message: EventMessage) -> None:
        pass

    def iteration(self, message: IterationMessage) -> None:
        message.model_dump_json()

    def checkpoint(self, message: CheckpointMessage) -> None:
        pass

    def wait_while_paused(self) -> None:
        pass

    def activity(self, text: str, *, num_steps: int, total_steps: int | None) -> None:
        pass

    def finish(self, report: StateReport) -> None:
        pass


def main(model_dir: str, prompts_file: str, max_new_tokens: int, num_steps: int, num_warm_up: int) -> None:
    """Train and print what the steps after the warm-up took, and where their time went."""
    ray.init(address="local", include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        told = measure(
            model_dir,
            prompts_file,
            max_new_tokens=max_new_tokens,
            num_steps=num_steps,
            num_warm_up=num_warm_up,
            cores=CORES,
        )
    finally:
        ray.shutdown()
    print(json.dumps(told), flush=True)  # noqa: T201  # what the caller reads


def measure(
    model_dir: str, prompts_file: str, *, max_new_tokens: int, num_steps: int, num_warm_up: int, cores: int
) -> dict[str, Any]:
    """What `bench.train.Measured` holds, of the steps after the warm-up. Ray is initialised.

    cores: ranks and engine replicas, of one thread each.
    """
    reporter = KeptSteps()
    with ExitStack() as ends:
        _loop(model_dir, prompts_file, max_new_tokens, num_warm_up + num_steps, reporter, ends, cores).run()
    (begin, _), measured = reporter.steps[num_warm_up - 1], reporter.steps[num_warm_up:]
    messages = [message for _, message in measured]
    return {
        "seconds": measured[-1][0] - begin,
        "samples": sum(message.global_batch_size for message in messages),
        "response_tokens": sum(message.num_loss_tokens for message in messages),
        "parts_s": _parts_s(messages),
    }


def _parts_s(messages: Sequence[StepMessage]) -> dict[str, float]:
    of_steps = [parts_s(message.timeline) for message in messages if message.timeline is not None]
    return {part: sum(of_step[part] for of_step in of_steps) for part in PARTS}


def _loop(
    model_dir: str,
    prompts_file: str,
    max_new_tokens: int,
    iterations: int,
    reporter: KeptSteps,
    ends: ExitStack,
    cores: int,
) -> TrainingLoop:
    model = HuggingFaceModelSpec(type="huggingface", path=model_dir)
    tokenizer, hf_config = TextTokenizer.from_directory(Path(model_dir)), load_hf_config(model)
    engine = TransformersEngine(hf_config, replicas=cores, eos_id=tokenizer.eos_id, pad_id=tokenizer.pad_id)
    ends.callback(engine.close)
    trainer = RayPolicyTrainer(TrainerSpec(model=model, parallelism=ParallelismSpec(dp=cores), seed=17))
    ends.callback(trainer.close)
    source = ListedPrompts(json.loads(Path(prompts_file).read_text()), tokenizer)
    filter_spec = FilterSpec(zero_variance=ZeroVariancePolicy.INCLUDE)
    steps = StepRunner(
        trainer=trainer,
        engine=engine,
        reporter=reporter,
        geometry=StepGeometry(dp_size=cores, token_cap=TOKEN_CAP),
        cost_model=CostModel.from_hf_config(hf_config),
    )
    store = CheckpointStore(Path(ends.enter_context(tempfile.TemporaryDirectory())), keep_last=1, keep_every=None)
    return TrainingLoop(
        warm_start=None,
        goal=_goal(max_new_tokens),
        plan=_plan(iterations, filter_spec),
        roller=Roller(
            source=source,
            engine=engine,
            reward=EvenIds(),
            decode=tokenizer.backend.decode,
            rollout=RolloutSpec(group_size=GROUP_SIZE, max_new_tokens=max_new_tokens),
            num_prompts=PROMPTS_PER_STEP,
            filter_spec=filter_spec,
            seed=17,
            obey=steps.obey,
            time=steps.time,
        ),
        steps=steps,
        reporter=reporter,
        source=source,
        checkpoints=Checkpoints(
            store,
            trainer=trainer,
            reporter=reporter,
            every_steps=10**6,
            write_model_files=lambda directory: None,  # noqa: ARG005  # there is nothing to say of this model
            time=steps.time,
        ),
        recorder=IterationRecorder(RecordingSpec(), pieces=tokenizer.pieces),
    )


def _plan(iterations: int, filter_spec: FilterSpec) -> IterationPlan:
    return IterationPlan(
        iterations=iterations,
        estimate=estimate_of(AdvantageEstimator.GRPO),
        reward_kl=None,
        batch=AllBatchSpec(type="all"),
        filter_spec=filter_spec,
        rollouts_per_iteration=PROMPTS_PER_STEP * GROUP_SIZE,
    )


def _goal(max_new_tokens: int) -> PhaseGoal:
    return PhaseGoal(
        phase=Phase.RL,
        spec=PhaseSpec(optimizer=OptimizerSpec(lr=LEARNING_RATE), loss=ClippedLossSpec()),
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
        constant_tokens=max_new_tokens,
    )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
