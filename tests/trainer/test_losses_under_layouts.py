"""Losses with all their terms, recomputed log-probs and the frozen reference under tp and pp: the real stack."""

from __future__ import annotations

import numpy as np
import pytest

from tests.trainer import factories
from tests.trainer.loss_factories import LOSSES, with_log_probs
from tests.trainer.reference_metrics import check_metrics, reference_metrics
from trainer.contracts.policy_trainer import LogProbsOf, TrainerError
from trainer.ray_trainer import RayPolicyTrainer

pytestmark = pytest.mark.stack

SAMPLES = with_log_probs(factories.samples(np.random.default_rng(11), 7), np.random.default_rng(12))

# step[dp_rank][k] = samples.
ALONE = [[[4, 0, 2], [], [1], [6, 3, 5]]]
UNEVEN = [[[4, 0, 2], [1], [6]], [[3, 5], [], []]]
OVERLAPS = {"distributed_optimizer": True, "overlap_grad_reduce": True, "overlap_param_gather": True}
LAYOUTS = {
    "dp=2": ({"dp": 2}, UNEVEN),
    "dp=2, everything overlaps": ({"dp": 2, **OVERLAPS}, UNEVEN),
    "tp=2, sequence parallel": ({"tp": 2, "sequence_parallel": True}, ALONE),
    "pp=2": ({"pp": 2}, ALONE),
    "pp=2, vpp=2": ({"pp": 2, "vpp": 2}, ALONE),
    "tp=2, pp=2": ({"tp": 2, "pp": 2}, ALONE),
    "cp=2": ({"cp": 2}, ALONE),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_losses_and_log_probs_equal_the_plain_loop(local_ray, layout: str) -> None:
    parallelism, step = LAYOUTS[layout]
    plan = factories.schedule(step)
    spec = factories.trainer_spec(model=factories.model_spec(num_layers=4), **parallelism)
    trainer = RayPolicyTrainer(spec, collective_timeout_s=60)
    try:
        model = factories.reference_model(trainer.hf_config(), trainer.weights())
        for name, loss in LOSSES.items():
            expected = factories.reference_step(model, SAMPLES, loss)
            trainer.start_phase(factories.phase(loss, warmup=1000))
            (record,) = trainer.train(samples=SAMPLES, schedule=plan)
            errors = factories.gradient_errors(trainer.gradients(), expected.gradients)
            assert max(errors.values()) <= 1e-5, (name, errors)
            check_metrics(record.metrics, reference_metrics(model, SAMPLES, loss, lr=0.0))
        _check_log_probs(trainer, model, plan)
    finally:
        trainer.close()


def _check_log_probs(trainer: RayPolicyTrainer, frozen: object, plan: object) -> None:
    """After an update the policy's log-probs are new ones, and the reference's those of before."""
    loss = LOSSES["cispo, k3, tis"]
    trainer.start_phase(factories.phase(loss, lr=1e-2))
    trainer.train(samples=SAMPLES, schedule=plan)
    moved = factories.reference_model(trainer.hf_config(), trainer.weights())
    for of, model in ((LogProbsOf.REFERENCE, frozen), (LogProbsOf.POLICY, moved)):
        found = trainer.log_probs(samples=SAMPLES, schedule=plan, of=of)
        for one, log_probs in zip(SAMPLES, found, strict=True):
            plain = factories.reference_log_probs(model, one, temperature=loss.temperature)
            np.testing.assert_allclose(log_probs, plain, atol=2e-5)
    trainer.start_phase(factories.phase(LOSSES["dual clip, entropy"]))
    with pytest.raises(TrainerError, match="keeps_reference"):
        trainer.log_probs(samples=SAMPLES, schedule=plan, of=LogProbsOf.REFERENCE)
