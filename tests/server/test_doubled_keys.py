from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.http.doubled_keys import doubled_key
from tests.server.factories import batch_json, metric, spec_json, step_message
from tests.server.live_server import LiveServer


def found(text: str) -> str | None:
    return doubled_key(text.encode(), orjson.loads(text))


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"a": 1, "a": 2}', "/a"),
        ('{"a" : 1, "a": 2}', "/a"),
        ('{"a": 1, "a": 1}', "/a"),
        ('{"a": {"b": ":"}, "a": "x:y"}', "/a"),
        ('{"a": [0, {"x/y": {"~": 1, "\\u007e": 2}}]}', "/a/1/x~1y/~0"),
        ('[{"a": 1}, {"a": 1, "b": {}, "b": {}}]', "/1/b"),
        ('{"a": "\\u003a", "a": ":\\u003A"}', "/a"),
        ('{"": 1, "": 2}', "/"),
        ('{"a": {"b": 1}, "c": {"b": 1}}', None),
        ('{"a": ":", "b": "\\":", "\\":": "\\u003a"}', None),
        ('{"é": 1, "e\u0301": 2}', None),
        ("7", None),
        ('":"', None),
    ],
)
def test_a_key_said_twice_is_found_and_nothing_else(text: str, pointer: str | None) -> None:
    assert found(text) == pointer


_texts = st.text(st.sampled_from('a:"\\ \n\u00e9'), max_size=4)
_values = st.recursive(
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # times say little on shared machines
@given(value=_values, key=_texts, again=_values, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_whatever_was_lost_had_a_key(value: Any, key: str, again: Any, indent: int | None, ascii_only: bool) -> None:
    once = json.dumps({key: value}, indent=indent, ensure_ascii=ascii_only, separators=(" ,", "\t:"))
    assert found(once) is None
    # The brace that closes the whole is the last one.
    twice = once[: once.rindex("}")] + "," + json.dumps({key: again}, ensure_ascii=ascii_only)[1:]
    assert found(twice) is not None


def test_what_is_too_deep_for_any_field_is_left_to_its_field() -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    assert found(deep) is None


@pytest.mark.stack
def test_specs_and_records_that_say_a_key_twice_are_refused_with_its_place(sqlite_server: LiveServer) -> None:
    spec = json.dumps(spec_json(name="twice")).replace('"iterations"', '"seed": 1, "seed": 2, "iterations"', 1)
    run = sqlite_server.launch()
    record = json.dumps(batch_json(step_message(0, metrics={"a/b": metric(1.0), "c": metric(2.0)})))
    record = record.replace('"c": {', '"a/b": {', 1)
    for path, body, headers, pointer in (
        ("runs", spec, {}, "/seed"),
        (f"runs/{run.id}/steps:batch", record, run.headers, "/steps/0/metrics/a~1b"),
    ):
        headers = {"Content-Type": "application/json", **headers}
        answer = sqlite_server.http.post(f"/api/v1/{path}", content=body, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/malformed-json")
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert sqlite_server.get(f"/runs/{run.id}/steps")["total"] == 0
