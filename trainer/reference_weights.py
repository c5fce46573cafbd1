"""The frozen reference of a phase: a copy of this rank's weights in CPU memory, swapped in for a forward pass.

A second model on the device would double the memory of weights all the time, for one pass in an iteration. Swapping
goes tensor by tensor, so that the device never holds more than one tensor twice. `trainer/rank.py` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


class ReferenceWeights:
    """A rank's parameters as they were when it was made, by their names."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        self._parameters = parameters
        self._frozen = {name: _on_cpu(parameter) for name, parameter in parameters.items()}

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The frozen weights, in CPU memory; the policy's while they are swapped."""
        return self._frozen

    def set(self, weights: Mapping[str, Tensor]) -> None:
        """Freeze these instead; every parameter is among them."""
        for name, frozen in self._frozen.items():
            frozen.copy_(weights[name])

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """The model is the reference while this is open, and the policy again afterwards, bit for bit."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self._parameters.items():
            leaving = _on_cpu(parameter)
            parameter.copy_(self._frozen[name])
            self._frozen[name] = leaving


def _on_cpu(tensor: Tensor) -> Tensor:
    """A copy in CPU memory, pinned where it has to travel."""
    copy = torch.empty_like(tensor, device="cpu", pin_memory=tensor.is_cuda)
    return copy.copy_(tensor.detach())
