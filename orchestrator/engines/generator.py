"""A transformers model that generates with whatever weights it was given last. The inside of one engine process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from orchestrator.contracts.rollout import Completion
from orchestrator.engines.decoding import decode
from trainer.contracts.policy_trainer import Weights


class Generator:
    """One copy of the policy."""

    def __init__(self, hf_config: Mapping[str, Any], *, eos_id: int, pad_id: int, num_threads: int) -> None:
        torch.set_num_threads(num_threads)
        settings = dict(hf_config)
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        self._model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        self._eos_id = eos_id
        self._pad_id = pad_id
        self._policy_version = -1

    def set_weights(self, weights: Weights, policy_version: int) -> None:
        """Take these weights, by their Hugging Face names.

        Raises:
            ValueError: a name or a shape is not the model's, or a weight of the model is missing.
        """
        own = dict(self._model.named_parameters())  # tied weights are there once, under their first name
        if missing := own.keys() - weights.keys():
            raise ValueError(f"pushed weights lack {sorted(missing)[:5]}")
        if unknown := weights.keys() - self._model.state_dict().keys():
            raise ValueError(f"pushed weights hold {sorted(unknown)[:5]}, which the model does not have")
        with torch.no_grad():
            for name, parameter in own.items():
                if parameter.shape != weights[name].shape:
                    raise ValueError(
                        f"{name} has shape {weights[name].shape}, the model wants {tuple(parameter.shape)}"
                    )
                parameter.copy_(torch.tensor(weights[name]))
        self._policy_version = policy_version

    def generate(
        self, prompts: Sequence[tuple[int, ...]], uniforms: npt.NDArray[np.float64], temperature: float
    ) -> list[Completion]:
        """One completion for each prompt; uniforms [len(prompts), max_new_tokens] decide what is drawn.

        Raises:
            RuntimeError: no weights have been pushed yet.
        """
        if self._policy_version < 0:
            raise RuntimeError("an engine cannot generate before weights are pushed to it")
        decoded = decode(
            self._model, prompts, uniforms, temperature=temperature, eos_id=self._eos_id, pad_id=self._pad_id
        )
        return [
            Completion(
                token_ids=result.token_ids,
                log_probs=result.log_probs,
                truncated=bool(result.token_ids[-1] != self._eos_id),
                policy_version=self._policy_version,
            )
            for result in decoded
        ]
