from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.reporting import system_sampler
from orchestrator.reporting.system_sampler import SystemSampler


def test_a_sample_tells_of_the_machine_and_of_every_process_that_lives(tmp_path: Path) -> None:
    (tmp_path / "driver.pid").write_text(str(os.getpid()))
    (tmp_path / "rank-0.pid").write_text("999999999")
    (tmp_path / "engine-0.pid").write_text("half writ")
    sampler = SystemSampler(tmp_path)
    sampler.generated_tokens_per_s = lambda: 12.5
    assert sampler.sample() is not None
    sum(i * i for i in range(1_000_000))
    sample = sampler.sample()
    assert sample is not None
    assert [process.name for process in sample.processes] == ["driver"]
    assert sample.processes[0].cpu_cores > 0
    assert 0 < sample.processes[0].memory_bytes < sample.memory_bytes <= sample.memory_total_bytes
    assert (sample.generated_tokens_per_s, sample.gpus) == (12.5, ())


def test_a_machine_that_cannot_be_looked_at_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> object:
        raise OSError("no /proc")

    sampler = SystemSampler(tmp_path)
    monkeypatch.setattr(system_sampler.psutil, "virtual_memory", refuse)
    assert sampler.sample() is None
