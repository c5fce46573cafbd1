"""Which log-probs the loop asks for, and what it does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.contracts.algorithm_spec import AlgorithmSpec
from orchestrator.contracts.batch_spec import FixedBatchSpec, Remainder
from tests.orchestrator.loop_run import (
    Run,
    mixed,
)
from trainer.contracts.policy_trainer import LogProbsOf
from trainer.contracts.schedule import dp_schedule_problems


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


def algorithm(**fields: Any) -> AlgorithmSpec:
    return AlgorithmSpec.model_validate(fields)


def test_no_log_probs_are_asked_for_unless_the_algorithm_wants_them() -> None:
    run = Run([mixed], iterations=1)
    run.run()
    assert run.trainer.asked == []
    assert "perf/log_probs_s" not in run.reported[0].metrics


def test_old_log_probs_are_asked_for_once_for_all_steps_of_an_iteration() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=12)
    run = Run([mixed], iterations=1, batch=batch, algorithm=algorithm(old_log_probs="trainer"))
    run.run()
    [(of, lengths, schedule)] = run.trainer.asked
    assert of is LogProbsOf.POLICY
    assert len(lengths) == 32
    assert dp_schedule_problems(schedule, lengths=lengths, token_cap=64) == []
    assert ["perf/log_probs_s" in message.metrics for message in run.reported] == [True, False, False]
    for samples, _ in run.trainer.calls:
        for one in samples:
            assert one.old_log_probs is not None
            assert one.engine_log_probs is not None
            assert set(one.old_log_probs[one.loss_mask]) == {-0.25}
            assert set(one.engine_log_probs[one.loss_mask]) == {-0.5}
            assert one.reference_log_probs is None


def test_a_distance_in_the_loss_gives_samples_the_references_log_probs() -> None:
    run = Run([mixed], iterations=1, algorithm=algorithm(kl={"type": "loss", "coef": 0.1}))
    run.run()
    assert [of for of, *_ in run.trainer.asked] == [LogProbsOf.REFERENCE]
    assert run.trainer.phases[-1].keeps_reference
    [(samples, _)] = run.trainer.calls
    assert samples[0].reference_log_probs is not None
    assert samples[0].reference_log_probs.tolist() == [0, 0, -1, -1]
    assert "reward/kl_reference" not in run.reported[0].metrics


def test_a_distance_in_the_reward_moves_advantages_but_not_the_recorded_rewards() -> None:
    run = Run([mixed], iterations=1, algorithm=algorithm(kl={"type": "reward", "coef": 0.1}))
    run.run()
    # Engine −0.5 against the reference's −1: right answers have two tokens, wrong ones three.
    shaped = [1 - 0.1 * 2 * 0.5, *[-0.1 * 3 * 0.5] * 3]
    columns = run.reported[0].schedule.samples
    assert columns.advantage[:4] == pytest.approx([reward - sum(shaped) / 4 for reward in shaped])
    assert columns.reward[:4] == (1, 0, 0, 0)
    assert run.reported[0].metrics["reward/kl_reference"].value == pytest.approx((1 + 3 * 1.5) / 4)
    assert run.reported[0].metrics["reward/mean"].value == pytest.approx(0.25)


def test_rollouts_that_wait_keep_the_log_probs_of_the_policy_that_made_them() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=24, remainder=Remainder.CARRY)
    run = Run([mixed, mixed], iterations=2, batch=batch, algorithm=algorithm(old_log_probs="trainer"))
    run.run()
    assert [len(lengths) for _, lengths, _ in run.trainer.asked] == [32, 32]
