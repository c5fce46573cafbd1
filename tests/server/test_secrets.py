from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.runs.secrets import REDACTED, find_secrets, without_secrets


@pytest.mark.parametrize(
    "config",
    [
        {"api_key": "x"},
        {"WANDB_API_KEY": "x"},
        {"apiKey": "x"},
        {"token": "x"},
        {"hf_token": "x"},
        {"auth-token": "x"},
        {"db": {"password": "x"}},
        {"aws": {"secret_access_key": "x"}},
        {"url": "postgresql://me:hunter2@db/runs"},
        {"note": "use hf_" + "a" * 34},
        {"runs": [{"header": "swt_" + "b" * 43}]},
    ],
)
def test_what_looks_like_a_secret(config: dict[str, Any]) -> None:
    (path,) = find_secrets(config)
    redacted = without_secrets(config)
    here: Any = redacted
    for part in path:
        here = here[part]
    assert here == REDACTED
    assert list(find_secrets(redacted)) in ([], [path])


@pytest.mark.parametrize(
    "config",
    [
        {"max_new_tokens": 8, "token_cap": 2048, "tokens_per_step": 1e6},
        {"eos_token": "</s>", "pad_token": "<pad>", "tokenizer": "gpt2"},
        {"api_key_env": "WANDB_API_KEY"},
        {"api_key": ""},
        {"api_key": None},
        {"keys": ["a"], "key": "b", "monkey": "c"},
        {"url": "postgresql://me@db/runs", "at": "http://127.0.0.1:8642/x@y"},
    ],
)
def test_what_does_not(config: dict[str, Any]) -> None:
    assert list(find_secrets(config)) == []
    assert without_secrets(config) is config


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=20,
)


@settings(deadline=None)  # times say little on shared machines
@given(json_values, st.sampled_from(["api_key", "password", "token"]))
def test_a_secret_is_found_wherever_it_stands_and_nothing_else_changes(value: Any, key: str) -> None:
    redacted = without_secrets({"a": value, "b": [{key: "hush", "c": value}]})
    assert redacted["b"][0][key] == REDACTED
    assert redacted["a"] == without_secrets(value)
