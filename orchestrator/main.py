"""The driver of one attempt: `python -m orchestrator.main`, with an AttemptLaunch as JSON in SWELL_ATTEMPT.

The only file that wires: it takes the RunSpec apart, builds the real parts, runs the loop, and says how it ended.
It ends with code 0 when training is done or was stopped, else with 1; the processes it started end before it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import ray

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.checkpointing.checkpoints import Checkpoints
from orchestrator.contracts.algorithm_spec import AlgorithmSpec, RewardKlSpec
from orchestrator.contracts.messages import AttemptLaunch, Phase, StateReport
from orchestrator.contracts.rollout import PromptSource, Reporter, Reward, RolloutEngine
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.schedule_spec import CostSource
from orchestrator.costs.calibration import CostCalibration
from orchestrator.costs.cost_model import CostModel
from orchestrator.data.prompt_source import TaskPromptSource
from orchestrator.data.task_stream import TaskStream
from orchestrator.engines.transformers_engine import EngineError, TransformersEngine
from orchestrator.geometry import geometry_of
from orchestrator.loop import IterationPlan, Outcome, TrainingLoop
from orchestrator.mirrors.mirror import MirroredRun
from orchestrator.mirrors.mirrors import start_mirrors
from orchestrator.reporting.journal import Journal
from orchestrator.reporting.reporter import JournalReporter
from orchestrator.reporting.stall import PhaseTimes
from orchestrator.reporting.system_sampler import SystemSampler
from orchestrator.reporting.timekeeper import DRIVER, Timekeeper
from orchestrator.reporting.watchdog import Watchdog
from orchestrator.rollouts.advantages import Estimate, estimate_of
from orchestrator.rollouts.iteration_record import IterationRecorder
from orchestrator.rollouts.reward import make_reward
from orchestrator.rollouts.rollout_round import Roller
from orchestrator.rollouts.tokenizer import TextTokenizer
from orchestrator.seeds import derive_seed
from orchestrator.step_runner import PhaseGoal, StepRunner
from orchestrator.warm_start import HeldOutEval, WarmStart
from trainer.architecture import load_hf_config
from trainer.contracts.model_spec import ModelSpec, ScratchModelSpec
from trainer.contracts.policy_trainer import TrainerError
from trainer.contracts.process_log import copy_process_log
from trainer.contracts.python_function import PythonFunction
from trainer.contracts.trainer_spec import PhaseSpec
from trainer.ray_trainer import RayPolicyTrainer

LAUNCH_VARIABLE = "SWELL_ATTEMPT"

_log = logging.getLogger(__name__)

_TOKENIZER_QUESTIONS = 1000
"""Questions that a tokenizer from scratch is trained on: more change its few merges no further."""
_MAX_REASON_CHARS = 10_000
_OWN_PACKAGES = ("orchestrator", "trainer")


def main() -> int:
    """Run the attempt that the environment names; returns the process's exit code."""
    _fix_string_hashes()
    launch = AttemptLaunch.model_validate_json(os.environ[LAUNCH_VARIABLE])
    _set_up_logging(launch)
    sampler = SystemSampler(_log_directory(launch))
    reporter = JournalReporter(
        journal=Journal(Path(launch.run_dir) / f"attempt-{launch.attempt}.jsonl"),
        server_url=launch.server_url,
        run_id=launch.run_id,
        attempt=launch.attempt,
        token=launch.ingest_token,
        log_directory=_log_directory(launch),
        sample_system=sampler.sample,
    )
    reporter.mirror_to(start_mirrors(launch.spec.tracking, _mirrored_run(launch), reporter.event))
    try:
        report = _run_and_tell(launch, reporter, sampler)
        reporter.finish(report)
    finally:
        reporter.close()
    return 1 if report.outcome == "failed" else 0


def _mirrored_run(launch: AttemptLaunch) -> MirroredRun:
    return MirroredRun(
        id=launch.run_id,
        name=launch.spec.name,
        attempt=launch.attempt,
        tags=launch.spec.tags,
        config=launch.spec.model_dump(mode="json"),
        directory=Path(launch.run_dir),
    )


def _run_and_tell(launch: AttemptLaunch, reporter: Reporter, sampler: SystemSampler) -> StateReport:
    """Train, and put the end of it into words, whatever it is. All parts are closed when it returns."""
    try:
        with ExitStack() as ends:
            reporter.activity("joining Ray", num_steps=0, total_steps=None)
            _join_ray(ends)
            loop = build_loop(launch, reporter, sampler, ends)
            outcome = loop.run()
    except Exception as error:
        _log.exception("the attempt failed")
        return StateReport(
            attempt=launch.attempt,
            outcome="failed",
            at=datetime.now(UTC),
            reason=failure_reason(error),
            # What died may live in another attempt. Everything else would only come to the same end.
            can_restart=isinstance(error, TrainerError | EngineError),
        )
    return StateReport(
        attempt=launch.attempt,
        outcome="stopped" if outcome is Outcome.STOPPED else "succeeded",
        at=datetime.now(UTC),
        reason=loop.remark if outcome is Outcome.SUCCEEDED else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What the loop is built of."""

    tokenizer: TextTokenizer
    source: PromptSource
    engine: RolloutEngine
    reward: Reward
    steps: StepRunner
    checkpoints: Checkpoints


def build_loop(launch: AttemptLaunch, reporter: Reporter, sampler: SystemSampler, ends: ExitStack) -> TrainingLoop:
    """The loop of a run with all its parts. Ray is initialised; `ends` closes what has processes.

    Raises:
        ValueError: the model or the data are not what the spec says, or the checkpoint to go on from is gone.
        TrainerError: a rank did not start.
    """
    spec = launch.spec
    _log.info("starting %s", spec.name)
    estimate = _import_user_code(spec.algorithm)
    store = _checkpoint_store(launch)
    reporter.activity("preparing the tokenizer", num_steps=0, total_steps=None)
    parts = _build_parts(spec, reporter, sampler, ends, store, _log_directory(launch))
    return TrainingLoop(
        warm_start=_warm_start(spec, parts, reporter),
        goal=_rl_goal(spec),
        plan=IterationPlan(
            iterations=spec.iterations,
            estimate=estimate,
            reward_kl=spec.algorithm.kl if isinstance(spec.algorithm.kl, RewardKlSpec) else None,
            batch=spec.batch,
            filter_spec=spec.filter,
            rollouts_per_iteration=spec.rollouts_per_iteration,
        ),
        roller=Roller(
            source=parts.source,
            engine=parts.engine,
            reward=parts.reward,
            decode=parts.tokenizer.decode,
            rollout=spec.rollout,
            num_prompts=spec.data.rollout_batch_size,
            filter_spec=spec.filter,
            seed=spec.seed,
            obey=parts.steps.obey,
            time=parts.steps.time,
        ),
        steps=parts.steps,
        reporter=reporter,
        source=parts.source,
        checkpoints=parts.checkpoints,
        recorder=IterationRecorder(spec.recording, pieces=parts.tokenizer.pieces),
    )


def _checkpoint_store(launch: AttemptLaunch) -> CheckpointStore:
    """The checkpoints of this and earlier attempts, with the one that the run shall go on from as the newest."""
    spec = launch.spec.checkpoint
    directory = Path(launch.run_dir) / "checkpoints"
    store = CheckpointStore(directory, keep_last=spec.keep_last, keep_every=spec.keep_every)
    if launch.resume_step is not None:
        store.go_back_to(launch.resume_step)
    return store


def _build_parts(
    spec: RunSpec,
    reporter: Reporter,
    sampler: SystemSampler,
    ends: ExitStack,
    store: CheckpointStore,
    log_directory: Path,
) -> _Parts:
    stream = TaskStream(spec.data.tasks, seed=derive_seed(spec.seed, "data"), lower_case=spec.data.lower_case)
    with _loading("tokenizer", spec.model):
        tokenizer = _tokenizer(spec.model, stream)
    with _loading("model", spec.model):
        hf_config = load_hf_config(spec.model)
    reporter.activity("starting the trainer and the engines", num_steps=0, total_steps=None)
    # The engine first: its replicas load their libraries while the trainer's ranks, which we wait for, load theirs.
    engine = TransformersEngine(
        hf_config,
        replicas=spec.rollout.engine.replicas,
        eos_id=tokenizer.eos_id,
        pad_id=tokenizer.pad_id,
        log_directory=log_directory,
    )
    ends.callback(engine.close)
    trainer = RayPolicyTrainer(spec.trainer, log_directory=log_directory)
    ends.callback(trainer.close)
    _log.info("trainer and engine are ready")
    geometry, time = geometry_of(spec.schedule, spec.parallelism), Timekeeper()
    sampler.generated_tokens_per_s = lambda: engine.generated_tokens_per_s
    watchdog = Watchdog(
        time,
        times=PhaseTimes(),
        busy=lambda: [*trainer.busy(), *engine.busy()],
        log_directory=log_directory,
        tell=reporter.event,
    )
    ends.callback(watchdog.close)
    return _Parts(
        tokenizer=tokenizer,
        source=TaskPromptSource(stream, tokenizer, max_prompt_tokens=spec.data.max_prompt_tokens),
        engine=engine,
        reward=make_reward(spec.reward, spec.data.tasks),
        steps=StepRunner(
            trainer=trainer,
            engine=engine,
            reporter=reporter,
            geometry=geometry,
            cost_model=CostModel.from_hf_config(hf_config),
            max_consecutive_skips=spec.limits.max_consecutive_skips,
            calibration=CostCalibration(cp=geometry.cp) if spec.schedule.cost is CostSource.MEASURED else None,
            time=time,
        ),
        checkpoints=Checkpoints(
            store,
            trainer=trainer,
            reporter=reporter,
            every_steps=spec.checkpoint.every_steps,
            write_model_files=partial(_write_model_files, hf_config, tokenizer),
            time=time,
        ),
    )


def _write_model_files(hf_config: Mapping[str, Any], tokenizer: TextTokenizer, directory: Path) -> None:
    (directory / "config.json").write_text(json.dumps(dict(hf_config), indent=2))
    tokenizer.save(directory)


def _warm_start(spec: RunSpec, parts: _Parts, reporter: Reporter) -> WarmStart | None:
    if spec.warm_start is None or spec.warm_start_phase is None:
        return None
    return WarmStart(
        spec.warm_start,
        goal=_goal(Phase.WARM_START, spec.warm_start_phase, spec),
        source=parts.source,
        encode_answer=parts.tokenizer.encode_answer,
        steps=parts.steps,
        held_out=HeldOutEval(
            source=parts.source,
            engine=parts.engine,
            reward=parts.reward,
            decode=parts.tokenizer.decode,
            num_prompts=spec.warm_start.eval_prompts,
            max_new_tokens=spec.rollout.max_new_tokens,
            time=parts.steps.time,
        ),
        reporter=reporter,
        checkpoints=parts.checkpoints,
    )


def _goal(phase: Phase, phase_spec: PhaseSpec, spec: RunSpec) -> PhaseGoal:
    return PhaseGoal(
        phase=phase,
        spec=phase_spec,
        loss_aggregation=spec.algorithm.loss_aggregation,
        constant_tokens=spec.constant_tokens,
    )


def _rl_goal(spec: RunSpec) -> PhaseGoal:
    return replace(
        _goal(Phase.RL, spec.rl_phase, spec),
        zero_variance=spec.filter.zero_variance,
        needs_trainer_log_probs=spec.algorithm.needs_trainer_log_probs,
    )


def _import_user_code(algorithm: AlgorithmSpec) -> Estimate:
    """Import what the spec names of the user's, before anything is started that would be in vain without it."""
    if isinstance(algorithm.loss, PythonFunction):
        algorithm.loss.load("algorithm.loss")
    return estimate_of(algorithm.advantage)


@contextmanager
def _loading(what: str, model: ModelSpec) -> Iterator[None]:
    """Name the directory in whatever goes wrong: readers of its files raise of all kinds, some with one bare word."""
    try:
        yield
    except Exception as error:
        if isinstance(model, ScratchModelSpec):
            raise
        raise ValueError(f"cannot load the {what} of {model.path}: {type(error).__name__}: {error}") from error


def _tokenizer(model: ModelSpec, stream: TaskStream) -> TextTokenizer:
    if not isinstance(model, ScratchModelSpec):
        return TextTokenizer.from_directory(Path(model.path))
    questions = [question for i in range(_TOKENIZER_QUESTIONS) if (question := stream.draw(i)) is not None]
    texts = chain.from_iterable((question.text, question.answer) for question in questions)
    return TextTokenizer.trained_on(texts, vocab_size=model.vocab_size)


def _join_ray(ends: ExitStack) -> None:
    """Join the cluster that the environment names, or start one that ends with this process."""
    address = os.environ.get("RAY_ADDRESS", "local")
    local = {"include_dashboard": False} if address == "local" else {}
    ray.init(address=address, configure_logging=False, **local)
    ends.callback(ray.shutdown)


def _fix_string_hashes() -> None:
    """Begin again with fixed string hashes, since some tasks draw in the order of a set of strings."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, os.environ | {"PYTHONHASHSEED": "0"})


def _set_up_logging(launch: AttemptLaunch) -> None:
    who = f"{launch.run_id} attempt {launch.attempt} driver".replace("%", "%%")
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s {who} %(name)s: %(message)s")
    copy_process_log(_log_directory(launch), DRIVER)


def _log_directory(launch: AttemptLaunch) -> Path:
    """Where all processes of the attempt write their logs."""
    return Path(launch.run_dir) / "logs" / f"attempt-{launch.attempt}"


def failure_reason(error: Exception) -> str:
    """Why an attempt failed: a headline, a blank line, the end of the traceback."""
    sentence = _headline(error)[: _MAX_REASON_CHARS // 4]
    trace = "".join(traceback.format_exception(error))
    return f"{sentence}\n\n{trace[-(_MAX_REASON_CHARS - len(sentence) - 2) :]}"


def _headline(error: Exception) -> str:
    """The first line of an error whose words are ours; of any other with its type, without which it may say nothing."""
    kind, sentence = type(error), next(iter(str(error).splitlines()), "")
    # What our own code refuses is a ValueError with a whole sentence.
    is_ours = kind is ValueError or kind.__module__.partition(".")[0] in _OWN_PACKAGES
    if not sentence:
        return kind.__name__
    return sentence if is_ours else f"{kind.__name__}: {sentence}"


if __name__ == "__main__":
    sys.exit(main())
