from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from orchestrator.batching.size_plan import planned_sizes
from orchestrator.contracts.messages import AttemptLaunch, StepMessage
from orchestrator.contracts.rollout_messages import IterationMessage
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.data.tasks import TaskError
from orchestrator.loop import NothingToTrainError
from orchestrator.main import LAUNCH_VARIABLE, build_loop, failure_reason
from orchestrator.reporting.system_sampler import SystemSampler
from tests.orchestrator.fakes import FakeReporter
from tests.orchestrator.ingest_server import IngestServer, until, wish
from tests.orchestrator.run_factories import run_spec
from trainer.contracts.certificate import Certificate
from trainer.contracts.policy_trainer import TrainerError
from trainer.contracts.schedule import StepSchedule, step_schedule_problems

TAG = "SWELL_TEST_DRIVER"


@pytest.fixture
def server() -> Iterator[IngestServer]:
    server = IngestServer()
    yield server
    server.close()


@contextmanager
def driver(spec: RunSpec, server: IngestServer, run_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver on its own, without a server's Ray, its processes tagged so that what it leaves can be found."""
    launch = AttemptLaunch(
        run_id="run_1",
        attempt=1,
        spec=spec,
        server_url=server.url,
        ingest_token="secret",
        run_dir=str(run_dir),
    )
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    environment |= {LAUNCH_VARIABLE: launch.model_dump_json(), TAG: str(run_dir), "OMP_NUM_THREADS": "1"}
    with (run_dir / "driver.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "orchestrator.main"], env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def left_behind(run_dir: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(TAG) == str(run_dir) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def logged(server: IngestServer) -> dict[tuple[str, int], dict[str, Any]]:
    """All lines that arrived, by source and number."""
    lines = [line for request in server.of("logs:batch") for line in request.body["lines"]]
    return {(line["source"], line["number"]): line for line in lines}


def steps_of(server: IngestServer) -> list[StepMessage]:
    messages = [step for request in server.of("steps:batch") for step in request.body["steps"]]
    return [StepMessage.model_validate_json(json.dumps(step)) for step in messages]


@pytest.mark.stack
def test_a_short_run_ends_well_with_true_records_and_nothing_left(server: IngestServer, tmp_path: Path) -> None:
    spec = run_spec(filter={"zero_variance": "include"})
    with driver(spec, server, tmp_path) as process:
        assert process.wait(300) == 0, (tmp_path / "driver.log").read_text()
    [state] = server.of("state")
    assert state.body["outcome"] == "succeeded"
    steps = steps_of(server)
    assert [step.step for step in steps] == list(range(9))
    assert [step.phase for step in steps] == ["warm_start"] * 6 + ["rl"] * 3
    assert [step.global_batch_size for step in steps] == [4] * 6 + [16] * 3
    for step in steps:
        samples = step.schedule.samples
        certificate = Certificate(
            loss_aggregation=step.schedule.loss_aggregation,
            sample_ids=samples.sample_id,
            weights=tuple(map(Fraction, samples.weight)),
        )
        schedule = StepSchedule(micro_batches=step.schedule.micro_batches, certificate=certificate)
        assert step_schedule_problems(schedule, lengths=samples.num_tokens, token_cap=128) == []
        assert certificate.sha256 == step.schedule.certificate_sha256
    assert float(steps[-1].metrics["train/log_prob_diff"].value or 0) < 1e-4
    for step in steps:
        check_timeline(step)
    check_iterations(server, steps[6:])
    told = [message for request in server.of("checkpoints:batch") for message in request.body["checkpoints"]]
    assert [(message["step"], message["phase"], message["removed"]) for message in told] == [
        (6, "rl", False),
        (9, "rl", False),
    ]
    until(lambda: left_behind(tmp_path) == [])


def check_timeline(step: StepMessage) -> None:
    """Ranks, engine and driver tell what they did, as far as it can be compared with what was measured otherwise."""
    assert step.timeline is not None
    columns = (step.timeline.actor, step.timeline.activity, step.timeline.start_s, step.timeline.end_s)
    spans = list(zip(*columns, strict=True))
    whole = (step.ended_at - step.started_at).total_seconds()
    assert all(0 <= start <= end <= whole + 1e-5 for _, _, start, end in spans)
    for rank, measured in enumerate(step.schedule.measured_s):
        mine = [(activity, end - start) for actor, activity, start, end in spans if actor == f"rank {rank}"]
        forward_backward = sum(seconds for activity, seconds in mine if activity == "forward_backward")
        # Forward and backward are one span, with what lies between them.
        assert sum(measured) - 1e-4 <= forward_backward <= whole
        assert sum(activity == "optimizer" for activity, _ in mine) == 1
    if step.phase == "rl":
        [generated] = [end - start for actor, activity, start, end in spans if activity == "generate"]
        assert generated <= float(step.metrics["perf/generate_s"].value or 0) + 1e-5
        assert {"push"} == {activity for actor, activity, *_ in spans if actor == "engine 0"} - {"generate"}
    assert {activity for actor, activity, *_ in spans if actor == "driver"} <= {"schedule", "score", "evaluate", "save"}


def check_iterations(server: IngestServer, steps: list[StepMessage]) -> None:
    """The books agree with the steps, and the recorded rollouts with the samples."""
    bodies = [one for request in server.of("rollouts:batch") for one in request.body["iterations"]]
    iterations = [IterationMessage.model_validate_json(json.dumps(body)) for body in bodies]
    assert [message.iteration for message in iterations] == [0, 1, 2]
    for message, step in zip(iterations, steps, strict=True):
        assert (message.first_step, message.num_steps, message.num_trained) == (step.step, 1, 16)
        rollouts = [rollout for group in message.groups for rollout in group.rollouts]
        assert {rollout.rollout_id for rollout in rollouts} == set(step.schedule.samples.rollout_id)
        for rollout in rollouts:
            assert "".join(rollout.pieces).replace("<|end|>", "").replace("<|pad|>", "") == rollout.text
            assert len(rollout.pieces) == len(rollout.log_probs) == rollout.num_tokens
            assert max(rollout.log_probs) <= 0


@pytest.mark.stack
def test_a_ramp_that_carries_is_trained_as_it_was_planned(server: IngestServer, tmp_path: Path) -> None:
    batch = {"type": "ramp", "start": 4, "end": 12, "increment": 4, "over_samples": 24, "remainder": "carry"}
    spec = run_spec(batch=batch, warm_start=None, filter={"zero_variance": "include"})
    with driver(spec, server, tmp_path) as process:
        assert process.wait(300) == 0, (tmp_path / "driver.log").read_text()
    steps = steps_of(server)
    planned = list(planned_sizes(spec.batch, kept_per_iteration=[spec.rollouts_per_iteration] * spec.iterations))
    assert [step.global_batch_size for step in steps] == [4, 4, 4, 8, 8, 12, 8]
    assert [step.num_rollouts for step in steps] == [size for iteration in planned for size in iteration.step_sizes]
    firsts = [step for step in steps if step.num_generated]
    assert [step.num_carried_in for step in firsts] == [iteration.num_carried_in for iteration in planned]
    assert [step.num_carried_out for step in firsts] == [iteration.num_carried_out for iteration in planned]
    for step in firsts:
        assert sum(age > 0 for age in step.schedule.samples.age) == step.num_carried_in
    ids = [sample for step in steps for sample in step.schedule.samples.sample_id]
    assert len(set(ids)) == len(ids) == spec.rollouts_per_iteration * spec.iterations


@pytest.mark.stack
def test_an_adaptive_run_measures_its_noise_and_says_what_it_decides(server: IngestServer, tmp_path: Path) -> None:
    batch = {"type": "adaptive", "mode": "control", "global_batch_size": 8, "min_size": 4, "max_size": 16}
    settings = {"smoothing": 0.5, "warmup_steps": 0, "patience": 1, "remainder": "carry"}
    spec = run_spec(batch=batch | settings, filter={"zero_variance": "include"})
    with driver(spec, server, tmp_path) as process:
        assert process.wait(300) == 0, (tmp_path / "driver.log").read_text()
    steps = [step for step in steps_of(server) if step.phase == "rl"]
    size: int | None = 8
    for step in steps:
        decision = step.batch_decision
        assert decision is not None
        assert decision.size_before == size
        size = decision.size_after
    assert all("noise/scale" in step.metrics for step in steps)


OWN_CODE = """
import torch

def best_of_group(rewards, *, gain):
    return [[gain * (reward - sum(group) / len(group)) for reward in group] for group in rewards]

def pushed(tokens, *, floor):
    ratio = (tokens.log_probs - tokens.old_log_probs).exp()
    return -torch.maximum(ratio, torch.full_like(ratio, floor)) * (tokens.advantages + 0.1)
"""


@pytest.mark.stack
def test_a_run_with_a_users_code_a_reference_and_corrections_tells_of_all(
    server: IngestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_code.py").write_text(OWN_CODE)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    algorithm = {
        "advantage": {"python": "own_code:best_of_group", "arguments": {"gain": 2.0}},
        "loss": {"python": "own_code:pushed", "arguments": {"floor": 0.5}},
        "kl": {"type": "loss", "estimator": "k3", "coef": 0.01},
        "entropy_coef": 0.001,
        "old_log_probs": "trainer",
        "correction": {"type": "tis", "cap": 2.0},
    }
    batch = {"type": "fixed", "global_batch_size": 8}
    spec = run_spec(
        algorithm=algorithm, batch=batch, iterations=2, warm_start=None, filter={"zero_variance": "include"}
    )
    with driver(spec, server, tmp_path) as process:
        assert process.wait(300) == 0, (tmp_path / "driver.log").read_text()
    steps = steps_of(server)
    values = [{name: metric.value for name, metric in step.metrics.items()} for step in steps]
    assert len(steps) == 4
    assert values[0]["train/kl_reference"] == 0
    assert all(float(step["train/kl_reference"] or 0) > 0 for step in values[1:])
    for step in values:
        # Engine and trainer are the same model under the same weights, whatever step of the iteration it is.
        assert float(step["train/log_prob_diff_max"] or 0) < 1e-4
        assert step["train/correction_mean"] == pytest.approx(1.0, abs=1e-4)
        parts = ("train/policy_loss", "train/kl_loss", "train/entropy_loss")
        assert step["train/loss"] == pytest.approx(sum(float(step[part] or 0) for part in parts), rel=1e-5)
    assert ["perf/log_probs_s" in step for step in values] == [True, False] * 2
    [first, *_] = server.of("rollouts:batch")[0].body["iterations"][0]["groups"][0]["rollouts"]
    np.testing.assert_allclose(first["trainer_log_probs"], first["log_probs"], atol=1e-4)
    assert {"rank 0", "rank 1"} <= {
        actor
        for actor, activity in zip(steps[0].timeline.actor, steps[0].timeline.activity, strict=True)  # type: ignore[union-attr]
        if activity == "log_probs"
    }


@pytest.mark.stack
def test_a_users_module_that_is_missing_fails_the_job_before_anything_is_started(
    server: IngestServer, tmp_path: Path
) -> None:
    spec = run_spec(algorithm={"loss": {"python": "no_such_module:loss"}})
    with driver(spec, server, tmp_path) as process:
        assert process.wait(60) == 1
    [state] = server.of("state")
    assert state.body["reason"].startswith("algorithm.loss is python: no_such_module:loss, but importing")
    assert "starting the trainer" not in str([request.body for request in server.of("heartbeat")])


@pytest.mark.stack
def test_a_run_that_cannot_go_on_says_why(server: IngestServer, tmp_path: Path) -> None:
    spec = run_spec(warm_start=None, filter={"max_consecutive_empty": 2})
    with driver(spec, server, tmp_path) as process:
        assert process.wait(300) == 1
    [state] = server.of("state")
    sentence, _, trace = state.body["reason"].partition("\n\n")
    assert state.body["outcome"] == "failed"
    assert sentence.startswith("2 iterations in a row gave nothing to train")
    assert "Traceback" in trace
    lines = logged(server)
    assert {source for source, _ in lines} == {"driver", "engine 0", "rank 0", "rank 1"}
    assert ("rank 1", "info", "progress: building the model") in [
        (line["source"], line["level"], line["text"]) for line in lines.values()
    ]
    [last] = [line for line in lines.values() if "the attempt failed" in line["text"]]
    assert (last["source"], last["level"]) == ("driver", "error")
    assert "NothingToTrainError: 2 iterations in a row" in last["text"], "a traceback is one entry"
    assert any("rank 0: building the model" in beat.body["activity"] for beat in server.of("heartbeat")) or any(
        "importing torch" in beat.body["activity"] for beat in server.of("heartbeat")
    )
    until(lambda: left_behind(tmp_path) == [])


@pytest.mark.stack
def test_a_run_waits_goes_on_and_ends_after_its_step_as_the_server_wishes(server: IngestServer, tmp_path: Path) -> None:
    spec = run_spec(iterations=10_000, filter={"zero_variance": "include"})
    with driver(spec, server, tmp_path) as process:
        until(lambda: len(steps_of(server)) >= 2, timeout_s=300)
        server.answer = lambda request: wish("pause")
        until(lambda: server.of("heartbeat")[-1].body["is_paused"], timeout_s=20)
        time.sleep(1)
        before = len(steps_of(server))
        # Long enough for a sample of the machine, which comes with every fifth heartbeat.
        time.sleep(10)
        assert len(steps_of(server)) == before
        server.answer = lambda request: wish("run")
        until(lambda: len(steps_of(server)) > before + 1, timeout_s=20)
        server.answer = lambda request: wish("stop")
        assert process.wait(20) == 0
    assert server.of("state")[0].body["outcome"] == "stopped"
    assert not any(step.ended_at - step.started_at > timedelta(seconds=9) for step in steps_of(server))
    samples = [beat.body["system"] for beat in server.of("heartbeat") if beat.body["system"] is not None]
    assert {process["name"] for process in samples[-1]["processes"]} == {"driver", "engine 0", "rank 0", "rank 1"}
    assert min(process["memory_bytes"] for process in samples[-1]["processes"]) > 0
    assert samples[-1]["generated_tokens_per_s"] > 0
    until(lambda: left_behind(tmp_path) == [])


@pytest.mark.stack
def test_a_driver_that_is_ended_from_outside_takes_its_actors_along(server: IngestServer, tmp_path: Path) -> None:
    with driver(run_spec(iterations=10_000, filter={"zero_variance": "include"}), server, tmp_path) as process:
        until(lambda: len(steps_of(server)) >= 1, timeout_s=300)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    until(lambda: left_behind(tmp_path) == [], timeout_s=30)


def test_a_checkpoint_that_is_gone_is_told_before_anything_is_started(tmp_path: Path) -> None:
    launch = AttemptLaunch(
        run_id="run_1",
        attempt=2,
        spec=run_spec(),
        server_url="http://127.0.0.1:1",
        ingest_token="secret",
        run_dir=str(tmp_path),
        resume_step=40,
    )
    with ExitStack() as ends, pytest.raises(ValueError, match="step 40: it is gone"):
        build_loop(launch, FakeReporter(), SystemSampler(tmp_path), ends)


def test_a_reason_begins_with_the_cause_and_stays_within_its_limit() -> None:
    try:
        raise ValueError("first cause\nmore " + "x" * 50_000)
    except ValueError as error:
        reason = failure_reason(error)
    assert reason.startswith("first cause\n\n")
    assert len(reason) <= 10_000
    assert failure_reason(KeyError()).startswith("KeyError\n\n")


@pytest.mark.parametrize(
    ("error", "headline"),
    [
        (KeyError("added_tokens"), "KeyError: 'added_tokens'"),
        (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left on device"),
        (TrainerError("a rank died"), "a rank died"),
        (NothingToTrainError("2 iterations gave nothing"), "2 iterations gave nothing"),
        (TaskError("no such task", "name"), "no such task"),
    ],
)
def test_a_reason_names_the_type_of_an_error_that_is_not_ours(error: Exception, headline: str) -> None:
    assert failure_reason(error).partition("\n\n")[0] == headline


def test_a_model_whose_files_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    launch = AttemptLaunch(
        run_id="run_1",
        attempt=1,
        spec=run_spec(model={"type": "huggingface", "path": str(tmp_path)}),
        server_url="http://127.0.0.1:1",
        ingest_token="secret",
        run_dir=str(tmp_path),
    )
    with ExitStack() as ends, pytest.raises(ValueError, match=f"^cannot load the tokenizer of {tmp_path}: [A-Z]\\w+: "):
        build_loop(launch, FakeReporter(), SystemSampler(tmp_path), ends)
