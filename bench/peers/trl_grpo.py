"""TRL's GRPOTrainer on the benchmark's model and prompts. Runs in an environment of its own; prints one line of JSON.

python trl_grpo.py MODEL_DIR PROMPTS_FILE MAX_NEW_TOKENS NUM_STEPS NUM_WARM_UP
torchrun --nproc_per_node 2 trl_grpo.py …    one process for each core, which share each step and add up their gradients

One update on each generation, so TRL computes no old log-probs; no reference, no checkpoints, no logs; fp32 and SDPA as
with us. vLLM would generate no faster at this size (0.8 million parameters, a CPU).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

PROMPTS_PER_STEP, GROUP_SIZE = 8, 8
# So small that the policy, and with it the lengths of its answers, stays what it is.
LEARNING_RATE = 1e-9
NUM_PROCESSES = int(os.environ.get("WORLD_SIZE", "1"))


class StepClock(TrainerCallback):  # type: ignore[misc]  # transformers' types are not checked here
    """Notes when each step ends."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_args: Any, **_kwargs: Any) -> None:
        self.ends.append(time.perf_counter())


class TokenCounter:
    """A reward that is cheap and varies: the share of even token ids. Counts what was generated on the way."""

    __name__ = "even_ids"

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def __call__(self, completion_ids: Sequence[Sequence[int]], **_kwargs: Any) -> list[float]:
        self.tokens.append(sum(map(len, completion_ids)))
        return [sum(i % 2 == 0 for i in ids) / max(1, len(ids)) for ids in completion_ids]


def main(model_dir: str, prompts_file: str, max_new_tokens: int, num_steps: int, num_warm_up: int) -> None:
    torch.manual_seed(17)
    clock, reward = StepClock(), TokenCounter()
    with tempfile.TemporaryDirectory() as directory:
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32),
            processing_class=AutoTokenizer.from_pretrained(model_dir),
            reward_funcs=reward,
            train_dataset=Dataset.from_list([{"prompt": text} for text in json.loads(Path(prompts_file).read_text())]),
            callbacks=[clock],
            args=GRPOConfig(
                output_dir=directory,
                use_cpu=True,
                per_device_train_batch_size=PROMPTS_PER_STEP * GROUP_SIZE // NUM_PROCESSES,
                num_generations=GROUP_SIZE,
                max_completion_length=max_new_tokens,
                max_steps=num_steps + num_warm_up,
                learning_rate=LEARNING_RATE,
                beta=0.0,
                temperature=1.0,
                top_k=0,
                gradient_checkpointing=False,
                bf16=False,
                ddp_find_unused_parameters=False,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                seed=17,
            ),
        )
        trainer.train()
    seconds = clock.ends[-1] - clock.ends[num_warm_up - 1]
    tokens = torch.tensor(sum(reward.tokens[num_warm_up:]))
    if NUM_PROCESSES > 1:
        torch.distributed.all_reduce(tokens)
    samples = num_steps * PROMPTS_PER_STEP * GROUP_SIZE
    if trainer.is_world_process_zero():
        told = {"seconds": seconds, "samples": samples, "response_tokens": int(tokens)}
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
