"""Swell's commands, run in the process of the tests."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.cli.main import main
from tests.server.factories import metric, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def problem(self) -> Any:
        return json.loads(self.err)


class Swell:
    """Runs commands in this process as a shell would."""

    def __init__(
        self, server: LiveServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], directory: Path
    ) -> None:
        self.server = server
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._directory = directory
        monkeypatch.setenv("SWELL_HOME", str(server.settings.home))
        monkeypatch.setenv("SWELL_URL", server.url)

    def __call__(self, *arguments: str) -> Result:
        self._monkeypatch.setattr(sys, "argv", ["swell", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self._capsys.readouterr()
        return Result(code=int(ended.value.code or 0), out=captured.out, err=captured.err)

    def spec_file(self, **changes: Any) -> str:
        path = self._directory / "run.yaml"
        path.write_text(yaml.safe_dump(spec_json(**changes), sort_keys=False))
        return str(path)


def recorded_run(server: LiveServer) -> LaunchedRun:
    """A run with three steps of 4, 2 and 3 samples."""
    run = server.launch(name="recorded")
    for step, lengths in enumerate(((5, 9, 7, 12), (5, 6), (7, 8, 9))):
        reward = {"reward/mean": metric(0.25 * step), "train/loss": metric("NaN" if step == 1 else 0.5)}
        answer = server.record(run, step_message(step, lengths=lengths, metrics=reward))
        assert answer.status_code == 200, answer.text
    return run
