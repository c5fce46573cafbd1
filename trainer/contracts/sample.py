"""The unit of training data. The orchestrator makes samples, the trainer consumes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSample:
    """One token sequence to train on, prompt and response together. Arrays share the length T.

    Position t always speaks of token t: `loss_mask[t]` says whether predicting token t from the tokens before it is
    trained, `old_log_probs[t]` is log p(token t | tokens < t). Token 0 has nothing before it, so its mask is False.

    `loss_scale` is s_i = step_global_batch_size · w_i, where w_i is the sample's weight per loss token (see
    `Certificate`): the trainer computes 1/step_global_batch_size · Σ_i s_i Σ_t mask·loss_t and needs no other
    denominator, whatever ranks and micro-batches the samples of a step are spread over.
    """

    token_ids: npt.NDArray[np.int64]  # [T]
    loss_mask: npt.NDArray[np.bool_]  # [T]
    loss_scale: float
    advantages: npt.NDArray[np.float32] | None = None
    """[T]; None for losses without advantages."""
    old_log_probs: npt.NDArray[np.float32] | None = None
    """[T], in nats, of the policy that generated the tokens, at the sampling temperature; 0 where the mask is False."""
    engine_log_probs: npt.NDArray[np.float32] | None = None
    """[T], by the engine, where `old_log_probs` are the trainer's own; None where the old ones are the engine's."""
    reference_log_probs: npt.NDArray[np.float32] | None = None
    """[T], by the frozen reference at the sampling temperature; None for losses without a distance to it."""

    def __post_init__(self) -> None:
        if self.num_tokens == 0:
            raise ValueError("a TrainSample needs at least one token")
        for name in ("loss_mask", "advantages", "old_log_probs", "engine_log_probs", "reference_log_probs"):
            array = getattr(self, name)
            if array is not None and array.shape != self.token_ids.shape:
                raise ValueError(f"{name} has shape {array.shape}, token_ids has shape {self.token_ids.shape}")
        if self.loss_mask[0]:
            raise ValueError("loss_mask[0] is True, but nothing predicts token 0")

    @property
    def num_tokens(self) -> int:
        return int(self.token_ids.shape[0])

    @property
    def num_loss_tokens(self) -> int:
        return int(self.loss_mask.sum())
