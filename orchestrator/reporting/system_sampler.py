"""How busy the machine and the run's processes are. Asked by the sender's thread every few heartbeats."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from orchestrator.contracts.system_message import GpuSample, ProcessSample, SystemSample
from trainer.contracts.process_log import pids

_log = logging.getLogger(__name__)


class SystemSampler:
    """Of one attempt. Shares of time are those since the sample before."""

    def __init__(self, log_directory: Path) -> None:
        """log_directory: where every process of the attempt leaves its process id."""
        self._log_directory = log_directory
        self._processes: dict[tuple[str, int], psutil.Process] = {}
        self._gpus = _open_gpus()
        self.generated_tokens_per_s: Callable[[], float | None] = lambda: None
        """Of all engines, over their last generation."""
        psutil.cpu_percent(None)

    def sample(self) -> SystemSample | None:
        """The machine now; None where it cannot be looked at, which must harm nobody."""
        try:
            return self._sample()
        except Exception:  # drivers and kernels have many ways to say no
            _log.debug("no sample of the machine", exc_info=True)
            return None

    def _sample(self) -> SystemSample:
        memory = psutil.virtual_memory()
        return SystemSample(
            at=datetime.now(UTC),
            num_cpus=psutil.cpu_count() or 1,
            cpu_frac=min(1.0, psutil.cpu_percent(None) / 100),
            memory_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            processes=tuple(self._process_samples()),
            gpus=tuple(map(_gpu_sample, range(len(self._gpus)), self._gpus)),
            generated_tokens_per_s=self.generated_tokens_per_s(),
        )

    def _process_samples(self) -> list[ProcessSample]:
        samples = []
        for name, pid in pids(self._log_directory).items():
            try:
                # Kept, because psutil measures from one question to the next.
                process = self._processes.setdefault((name, pid), psutil.Process(pid))
                samples.append(
                    ProcessSample(
                        name=name,
                        cpu_cores=process.cpu_percent(None) / 100,
                        memory_bytes=process.memory_info().rss,
                    )
                )
            except psutil.Error:
                continue
        return samples


def _open_gpus() -> list[Any]:
    """Handles of this machine's GPUs; none without them, or without nvidia-ml-py."""
    try:
        import pynvml  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
        return [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        _log.debug("no GPU can be looked at: %s", error)
        return []


def _gpu_sample(index: int, handle: Any) -> GpuSample:
    import pynvml

    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return GpuSample(
        index=index,
        utilization_frac=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
        memory_bytes=memory.used,
        memory_total_bytes=memory.total,
    )
