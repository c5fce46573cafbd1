"""The benchmark's own loop still fits the parts that it is built of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.train import Measured
from bench.train_model import write_model, write_prompts
from bench.train_ours import GROUP_SIZE, PROMPTS_PER_STEP, measure

pytestmark = pytest.mark.stack


def test_one_step_is_trained_and_its_time_told(local_ray: None, tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    write_prompts(tmp_path / "prompts.json")
    told = measure(
        str(tmp_path / "model"),
        str(tmp_path / "prompts.json"),
        max_new_tokens=3,
        num_steps=1,
        num_warm_up=1,
        cores=1,
    )
    measured = Measured(**told)
    assert measured.samples == PROMPTS_PER_STEP * GROUP_SIZE
    assert measured.samples <= measured.response_tokens <= 3 * measured.samples
    assert 0 < sum(measured.parts_s.values()) < measured.seconds
    # Nothing recomputes log-probs here: the engine's are the ones of the only update.
    assert [part for part, seconds in measured.parts_s.items() if seconds == 0] == ["log_probs"]
