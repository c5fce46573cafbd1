from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.batching.batch_controller import ControllerState
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.batching.noise_scale import SmoothedNoise
from orchestrator.checkpointing.training_state import TrainingState, read_training_state, write_training_state
from orchestrator.contracts.messages import Phase
from orchestrator.contracts.rollout import SourcePosition
from orchestrator.sample_shape import SampleShape
from orchestrator.train_items import TrainItem

STATE = TrainingState(
    phase=Phase.RL,
    iteration=7,
    num_steps=31,
    policy_version=30,
    source=SourcePosition(next_index=900, drawn=(897, 899), held_out=(3, 19), num_left_out=2),
    held_out_reward=(3.0, 8.0),
    batch=BatchPosition(step=11, samples=320),
    controller=ControllerState(
        size=24, noise=SmoothedNoise(num_steps=3, trace_sum=0.1, grad_sq_sum=-1e-300, weight=1 / 3), streak=-2
    ),
    num_empty=1,
    num_skipped=3,
)


LOG_PROBS = ("log_probs", "trainer_log_probs", "reference_log_probs")


def item(name: str, *, log_probs: bool = True) -> TrainItem:
    made = TrainItem(
        shape=SampleShape(sample_id=name, rollout_id=name, group_id="g\u202e", num_tokens=5, num_loss_tokens=2),
        token_ids=np.array([1, 2, 3, 4, 2**40], dtype=np.int64),
        num_prompt_tokens=3,
        reward=0.1,
        advantage=-1 / 3,
        policy_version=29,
        age=2,
        is_recorded=True,
    )
    arrays = (np.array([-0.1, k], dtype=np.float32) for k in range(3))
    return replace(made, **dict(zip(LOG_PROBS, arrays, strict=True))) if log_probs else made


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    waiting = [item("a"), item("b", log_probs=False), item("c")]
    write_training_state(tmp_path, STATE, waiting)
    state, read = read_training_state(tmp_path)
    assert state == STATE
    for found, expected in zip(read, waiting, strict=True):
        bare = dict.fromkeys(LOG_PROBS) | {"token_ids": 0}
        assert replace(found, **bare) == replace(expected, **bare)
        np.testing.assert_array_equal(found.token_ids, expected.token_ids, strict=True)
        for log_probs, wanted in ((getattr(found, name), getattr(expected, name)) for name in LOG_PROBS):
            assert (log_probs is None) == (wanted is None)
            if wanted is not None:
                np.testing.assert_array_equal(log_probs, wanted, strict=True)


def test_nothing_waits_and_nothing_is_measured(tmp_path: Path) -> None:
    bare = TrainingState(phase=Phase.WARM_START, iteration=0, num_steps=0, policy_version=0, source=SourcePosition())
    write_training_state(tmp_path, bare, [])
    assert read_training_state(tmp_path) == (bare, [])


@pytest.mark.parametrize("file", ["driver.json", "waiting.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 9, "state": {}, "waiting": []}', None])
def test_damage_is_a_value_error_that_names_the_checkpoint(tmp_path: Path, file: str, content: bytes | None) -> None:
    write_training_state(tmp_path, STATE, [item("a")])
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=f"checkpoint {tmp_path}"):
        read_training_state(tmp_path)
