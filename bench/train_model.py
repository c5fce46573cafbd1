"""The model, tokenizer and prompts that the training benchmark gives to every framework alike."""

from __future__ import annotations

import json
import random
from pathlib import Path

# With almost uniform logits a response ends at each token with a probability of about one in VOCAB_SIZE: lengths spread
# over the whole range below the limit, and no framework has to be told any.
VOCAB_SIZE = 128
EOS_ID, PAD_ID = 0, 1
NUM_PROMPTS = 4096
MIN_PROMPT_TOKENS, MAX_PROMPT_TOKENS = 8, 24


def write_model(directory: Path) -> None:
    """A Qwen3 of 0.8 million parameters with random weights, and a tokenizer of VOCAB_SIZE words."""
    # Imported here, so that the other parts of the benchmark do without them.
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(17)
    config = Qwen3Config(
        vocab_size=VOCAB_SIZE,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
        bos_token_id=None,
    )
    Qwen3ForCausalLM(config).save_pretrained(directory)
    words = Tokenizer(models.WordLevel({word(i): i for i in range(VOCAB_SIZE)}, unk_token=word(2)))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token=word(EOS_ID), pad_token=word(PAD_ID)).save_pretrained(
        directory
    )


def write_prompts(path: Path) -> None:
    """Prompts of random words, as a JSON list of texts."""
    draw = random.Random(17)
    texts = [
        " ".join(word(draw.randrange(3, VOCAB_SIZE)) for _ in range(draw.randint(MIN_PROMPT_TOKENS, MAX_PROMPT_TOKENS)))
        for _ in range(NUM_PROMPTS)
    ]
    path.write_text(json.dumps(texts))


def word(token_id: int) -> str:
    """The text of a token."""
    return f"w{token_id}"
