"""The environment of a process that computes. Read once, when it starts, so whoever starts it sets it."""

from __future__ import annotations

import os
from collections.abc import Mapping

_MIB = 1 << 20

_ALLOCATOR = {
    # Huge pages, where Linux leaves them to the program (transparent_hugepage = madvise).
    "hugetlb": 1,
    # Activations come and go at every layer. By default glibc returns each large block to the system and gets new pages
    # for the next, cleared by the kernel: a tenth of the time of a small model. glibc before 2.35 ignores a threshold
    # above 32 MiB, and would then map even blocks of 128 KiB anew each time, since the other two are set.
    "mmap_threshold": 32 * _MIB,
    "trim_threshold": 256 * _MIB,
    "top_pad": 16 * _MIB,
}
"""Of glibc's malloc, see "Memory Allocation Tunables" in its manual. Other C libraries ignore them."""


def actor_environment(
    num_threads: int, inherited: Mapping[str, str] = os.environ, *, may_compile: bool = False
) -> dict[str, str]:
    """Variables for an actor that computes with so many threads.

    inherited: what this process was started with; tunables that are set there stay as they are.
    may_compile: False switches torch.compile off. Nothing here uses it on a CPU, but Megatron wraps functions in it as
        it is imported, which loads the compiler: a third of what a rank takes to import.
    """
    ours = {f"glibc.malloc.{name}": str(value) for name, value in _ALLOCATOR.items()}
    set_before = (part.partition("=") for part in inherited.get("GLIBC_TUNABLES", "").split(":"))
    tunables = ours | {name: value for name, equals, value in set_before if equals}
    told = ":".join(f"{name}={value}" for name, value in tunables.items())
    compiler = {} if may_compile else {"TORCHDYNAMO_DISABLE": inherited.get("TORCHDYNAMO_DISABLE", "1")}
    return {"OMP_NUM_THREADS": str(num_threads), "GLIBC_TUNABLES": told, **compiler}
