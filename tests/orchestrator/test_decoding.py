from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engines.decoding import Decoded, decode, draw
from tests.orchestrator.tiny_model import EOS, PAD, VOCAB_SIZE, hf_model, prompts

MODEL = hf_model()


def decoded(given_prompts: list[tuple[int, ...]], *, seed: int = 0, temperature: float = 1.0) -> list[Decoded]:
    uniforms = np.random.default_rng(seed).random((len(given_prompts), 12))
    return decode(MODEL, given_prompts, uniforms, temperature=temperature, eos_id=EOS, pad_id=PAD)


def full_log_probs(prompt: tuple[int, ...], response: list[int], temperature: float) -> torch.Tensor:
    """One forward over the whole unpadded sequence, without a cache: [R, V]."""
    with torch.no_grad():
        logits = MODEL(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits / temperature, dim=-1)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
def test_log_probs_are_those_of_a_full_forward(temperature: float) -> None:
    given_prompts = prompts(20, group_size=3)
    for prompt, result in zip(given_prompts, decoded(given_prompts, temperature=temperature), strict=True):
        response = result.token_ids.tolist()
        expected = full_log_probs(prompt, response, temperature)[range(len(response)), response]
        np.testing.assert_allclose(result.log_probs, expected, atol=1e-5)


def test_greedy_takes_the_likeliest_token() -> None:
    given_prompts = prompts(20)
    for prompt, result in zip(given_prompts, decoded(given_prompts, temperature=0.0), strict=True):
        response = result.token_ids.tolist()
        assert full_log_probs(prompt, response, 1.0).argmax(-1).tolist() == response


def test_greedy_is_what_transformers_generates_also_of_a_batch_that_shrinks() -> None:
    # Rows leave after the first token and again later: those that go on keep their masks, positions and caches.
    by_length = {
        len(result.token_ids): prompt
        for prompt, result in zip(prompts(300), decoded(prompts(300), temperature=0.0), strict=True)
    }
    given_prompts = [by_length[length] for length in sorted(by_length)]
    found = decoded(given_prompts, temperature=0.0)
    assert len({len(result.token_ids) for result in found}) > 8
    assert len({len(prompt) for prompt in given_prompts}) > 5
    for prompt, result in zip(given_prompts, found, strict=True):
        expected = MODEL.generate(
            torch.tensor([prompt]), max_new_tokens=12, do_sample=False, eos_token_id=EOS, pad_token_id=PAD
        )
        assert expected[0, len(prompt) :].tolist() == result.token_ids.tolist()


def test_responses_end_with_the_end_token_or_by_length() -> None:
    lengths = set()
    for result in decoded(prompts(60, group_size=4)):
        *before, last = result.token_ids.tolist()
        lengths.add(len(result.token_ids))
        assert EOS not in before
        assert last == EOS or len(result.token_ids) == 12
    assert len(lengths) > 3


def test_what_is_drawn_does_not_depend_on_the_rest_of_the_batch() -> None:
    given_prompts = prompts(300, group_size=1)
    uniforms = np.random.default_rng(3).random((300, 12))
    together = decode(MODEL, given_prompts, uniforms, temperature=1.0, eos_id=EOS, pad_id=PAD)
    for i in (0, 7, 150, 299):
        [alone] = decode(MODEL, [given_prompts[i]], uniforms[[i]], temperature=1.0, eos_id=EOS, pad_id=PAD)
        assert alone.token_ids.tolist() == together[i].token_ids.tolist()


@given(st.integers(0, 2**32 - 1))
def test_draws_follow_the_distribution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(size=VOCAB_SIZE) * 4).float().repeat(4000, 1)
    # Evenly spread numbers hit every token as often as its probability says, to within one.
    uniforms = torch.from_numpy((np.arange(4000) + rng.random()) / 4000)
    token_ids, log_probs = draw(logits, uniforms, 1.0)
    frequency = np.bincount(token_ids.numpy(), minlength=VOCAB_SIZE) / 4000
    np.testing.assert_allclose(frequency, torch.softmax(logits[0], -1), atol=1.01 / 4000)
    np.testing.assert_allclose(log_probs, torch.log_softmax(logits, -1)[range(4000), token_ids])


def test_the_ends_of_the_unit_interval_draw_tokens_of_the_vocabulary() -> None:
    logits = torch.zeros(2, VOCAB_SIZE)
    token_ids, _ = draw(logits, torch.tensor([0.0, np.nextafter(1.0, 0.0)], dtype=torch.float64), 1.0)
    assert token_ids.tolist() == [0, VOCAB_SIZE - 1]
