"""TRL's GRPOTrainer on the benchmark's model and prompts. Runs in an environment of its own; prints one line of JSON.

python trl_grpo.py MODEL_DIR PROMPTS_FILE MAX_NEW_TOKENS NUM_STEPS NUM_WARM_UP
"""

from __future__ import annotations

import json
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
                per_device_train_batch_size=PROMPTS_PER_STEP * GROUP_SIZE,
                num_generations=GROUP_SIZE,
                max_completion_length=max_new_tokens,
                max_steps=num_steps + num_warm_up,
                learning_rate=LEARNING_RATE,
                beta=0.0,
                temperature=1.0,
                top_k=0,
                gradient_checkpointing=False,
                bf16=False,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                seed=17,
            ),
        )
        trainer.train()
    seconds = clock.ends[-1] - clock.ends[num_warm_up - 1]
    tokens = sum(reward.tokens[num_warm_up:])
    samples = num_steps * PROMPTS_PER_STEP * GROUP_SIZE
    sys.stdout.write(json.dumps({"seconds": seconds, "samples": samples, "response_tokens": tokens}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
