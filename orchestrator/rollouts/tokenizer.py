"""Text to tokens and back. A run from scratch trains its own tokenizer; a Hugging Face model brings one along.

Built by main.py; prompts are encoded by the data source, rollouts decoded by the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerFast

_PAD, _END = "<|pad|>", "<|end|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTokenizer:
    """A tokenizer with the two decisions that a run has to make: how a prompt is put, and what ends an answer."""

    backend: PreTrainedTokenizerFast

    @classmethod
    def trained_on(cls, texts: Iterable[str], *, vocab_size: int) -> Self:
        """A byte-level BPE tokenizer for these texts; the same texts give the same tokenizer.

        vocab_size: the most entries, special tokens and the 256 bytes included; few texts give fewer.
        """
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=[_PAD, _END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(backend=PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=_PAD, eos_token=_END))

    @classmethod
    def from_directory(cls, path: Path) -> Self:
        """The tokenizer of a Hugging Face model directory.

        Raises:
            ValueError: it says of no token that it ends a text.
        """
        # Imported here: it brings torch along, which a driver does well without.
        from transformers import AutoTokenizer

        backend: Any = AutoTokenizer.from_pretrained(path, local_files_only=True)
        if backend.eos_token_id is None:
            raise ValueError(f"the tokenizer in {path} has no eos_token; model.path needs one that ends its answers")
        return cls(backend=backend)

    def save(self, directory: Path) -> None:
        """Write the tokenizer's files, as `from_directory` reads them."""
        self.backend.save_pretrained(directory)

    @property
    def eos_id(self) -> int:
        """The token that ends an answer."""
        return int(self.backend.eos_token_id)

    @property
    def pad_id(self) -> int:
        """A token to fill up with; which one makes no difference, because it is never looked at."""
        pad = self.backend.pad_token_id
        return self.eos_id if pad is None else int(pad)

    def encode_prompt(self, question: str) -> tuple[int, ...]:
        """A question up to where the answer begins: by the model's chat template if it has one, else on a line."""
        if self.backend.chat_template is None:
            return self._encode(f"{question}\n")
        turns = [{"role": "user", "content": question}]
        text = self.backend.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return self._encode(text)

    def encode_answer(self, answer: str) -> tuple[int, ...]:
        """An answer with the token that ends it."""
        return (*self._encode(answer), self.eos_id)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        return str(self.backend.decode(token_ids, skip_special_tokens=True))

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """The text of each token, special ones included; together they are the whole text.

        A character that several tokens make is the last one's, and the others are empty.
        """
        backend = self.backend.backend_tokenizer
        stream = DecodeStream(skip_special_tokens=False)
        pieces = [stream.step(backend, token) or "" for token in token_ids]
        # The stream waits for the rest of a character that never comes.
        unfinished = backend.decode(list(token_ids), skip_special_tokens=False)[sum(map(len, pieces)) :]
        return [*pieces[:-1], pieces[-1] + unfinished] if unfinished else pieces

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.backend.encode(text, add_special_tokens=False))
