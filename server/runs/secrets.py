"""Values that look like secrets: refused in specs, taken out of what other frameworks send. Pure.

Specs and configs are shown, exported and cloned: a secret among them is told to everybody who may read. Specs name
environment variables instead: `api_key_env: WANDB_API_KEY`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

REDACTED = "[not kept: looks like a secret]"
_KEY = re.compile(
    r"(^|[_\-. ])(passwords?|passwd|passphrase|secrets?|credentials?|authorization"
    r"|(api|secret|access|private)[_-]?keys?"
    r"|(auth|access|api|bearer|hf|hub|hugging[_-]?face|wandb|github|session|refresh|security|secret|bot|login)[_-]?tokens?"
    r")$|^token$",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b(sw[atsi]_[\w-]{30,}|hf_[A-Za-z0-9]{30,}|sk-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[A-Z0-9]{16})\b"
)
_URL_PASSWORD = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@")

Path = tuple[str | int, ...]


def find_secrets(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where values look like secrets: by their key, or by themselves.

    >>> list(find_secrets({"model": "m", "tracking": [{"api_key": "x"}], "max_new_tokens": 8}))
    [('tracking', 0, 'api_key')]
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            if isinstance(part, str) and part and _KEY.search(str(key)):
                yield (*path, key)
            else:
                yield from find_secrets(part, (*path, key))
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from find_secrets(part, (*path, i))
    elif isinstance(value, str) and (_VALUE.search(value) or _URL_PASSWORD.search(value)):
        yield path


def without_secrets(value: Any) -> Any:
    """The same with REDACTED in the place of each secret."""
    secrets = set(find_secrets(value))
    return _replaced(value, (), secrets) if secrets else value


def _replaced(value: Any, path: Path, secrets: set[Path]) -> Any:
    if path in secrets:
        return REDACTED
    if isinstance(value, Mapping):
        return {key: _replaced(part, (*path, key), secrets) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(part, (*path, i), secrets) for i, part in enumerate(value)]
    return value
