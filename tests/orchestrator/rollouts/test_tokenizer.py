from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.rollouts.tokenizer import TextTokenizer

TEXTS = [f"spell this word backward: {word}" for word in ("tucano", "hayrack", "sulphato") * 5]
TOKENIZER = TextTokenizer.trained_on(TEXTS, vocab_size=300)


def test_the_same_texts_give_the_same_tokenizer() -> None:
    again = TextTokenizer.trained_on(iter(TEXTS), vocab_size=300)
    assert again.backend.get_vocab() == TOKENIZER.backend.get_vocab()


def test_the_vocabulary_stays_within_its_cap() -> None:
    assert len(TOKENIZER.backend) <= 300
    assert TOKENIZER.eos_id != TOKENIZER.pad_id


@given(st.text(max_size=40).filter(lambda text: "<|" not in text))
def test_any_answer_comes_back_unchanged(text: str) -> None:
    *token_ids, end = TOKENIZER.encode_answer(text)
    assert end == TOKENIZER.eos_id
    assert TOKENIZER.eos_id not in token_ids
    assert TOKENIZER.decode([*token_ids, end]) == text


@given(st.text(max_size=40).filter(lambda text: "<|" not in text))
def test_the_pieces_of_an_answer_are_its_text_and_what_ends_it(text: str) -> None:
    token_ids = TOKENIZER.encode_answer(text)
    pieces = TOKENIZER.pieces(token_ids)
    assert len(pieces) == len(token_ids)
    assert "".join(pieces) == text + "<|end|>"


@given(st.lists(st.integers(0, 299), max_size=30))
def test_the_pieces_of_any_tokens_are_what_they_mean_together(token_ids: list[int]) -> None:
    pieces = TOKENIZER.pieces(token_ids)
    assert len(pieces) == len(token_ids)
    assert "".join(pieces) == TOKENIZER.backend.decode(token_ids, skip_special_tokens=False)


def test_tokens_beyond_the_vocabulary_are_no_text() -> None:
    assert TOKENIZER.decode([70_000]) == ""
    assert TOKENIZER.pieces([70_000]) == [""]


def test_a_prompt_ends_where_the_answer_begins() -> None:
    assert TOKENIZER.decode(TOKENIZER.encode_prompt("what?")) == "what?\n"


def test_a_model_directory_brings_its_tokenizer_and_chat_template(tmp_path: Path) -> None:
    TOKENIZER.backend.save_pretrained(tmp_path)
    loaded = TextTokenizer.from_directory(tmp_path)
    assert loaded.encode_prompt("what?") == TOKENIZER.encode_prompt("what?")
    loaded.backend.chat_template = "{% for turn in messages %}[{{ turn.content }}]{% endfor %}>"
    assert loaded.decode(loaded.encode_prompt("what?")) == "[what?]>"


def test_a_tokenizer_without_an_end_is_refused(tmp_path: Path) -> None:
    tokenizer = TextTokenizer.trained_on(TEXTS, vocab_size=300).backend
    tokenizer.eos_token = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="no eos_token"):
        TextTokenizer.from_directory(tmp_path)
