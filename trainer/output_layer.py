"""The output layer of our Megatron models: from hidden states straight to log-probs and entropy, never to all logits.

`trainer/model.py` puts it in the place of Megatron's, whose weight it takes over, under the same name.

Legend: n loss tokens of this rank, H hidden size, V vocabulary columns of this rank.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from trainer.attention import Targets
from trainer.log_probs import vocab_parallel_log_probs


class LogProbLayer(torch.nn.Module):
    """A module of its own, so that Megatron's DDP can wait before it for a weight that is still being gathered."""

    def __init__(self, weight: torch.nn.Parameter | None, *, vocab_size: int, group: dist.ProcessGroup) -> None:
        """weight: [V, H]; None where the layer is tied to an embedding of the same stage."""
        super().__init__()
        self.weight: torch.nn.Parameter | None
        self.register_parameter("weight", weight)
        self._vocab_size = vocab_size
        self._group = group

    def forward(self, hidden: Tensor, targets: Targets, *, tied_weight: Tensor | None) -> Tensor:
        """Hidden states [n, H], the same on all tensor-parallel ranks → log-probs and entropies [2, n] in fp32."""
        weight = self.weight if tied_weight is None else tied_weight
        assert weight is not None, "a layer without a weight is tied to one"
        return torch.stack(
            vocab_parallel_log_probs(
                hidden,
                weight,
                targets.token_ids,
                vocab_size=self._vocab_size,
                temperature=targets.temperature,
                group=self._group,
            )
        )
