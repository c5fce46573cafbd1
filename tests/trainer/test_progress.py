from __future__ import annotations

import logging

import pytest

from trainer.contracts import progress
from trainer.contracts.progress import tracked


def test_the_log_tells_how_far_long_work_has_come(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    with caplog.at_level(logging.INFO):
        assert list(tracked("abc", what="loading weights", unit="tensors")) == ["a", "b", "c"]
    assert caplog.messages == [
        "loading weights: 0 of 3 tensors",
        *[f"loading weights: {done} of 3 tensors" for done in range(3)],
        "loading weights: all 3 tensors",
    ]
    assert {record.name for record in caplog.records} == {"progress"}


def test_quick_work_is_told_in_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        list(tracked(range(1000), what="saving", unit="tensors"))
    assert len(caplog.messages) == 2


def test_somebody_who_looks_on_sees_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with caplog.at_level(logging.INFO):
        assert list(tracked("abc", what="saving", unit="tensors")) == ["a", "b", "c"]
    assert "saving: 100%" in capsys.readouterr().err
    assert caplog.messages == []
