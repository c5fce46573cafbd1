import os
import socket
from pathlib import Path

import pytest
from rich.console import Console

from server.cli import doctor
from server.cli.doctor import Check, Verdict, examination_table, examine
from server.settings import Settings
from tests.server.live_server import LiveServer


@pytest.fixture(autouse=True)
def _no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SWELL_URL", raising=False)
    monkeypatch.delenv("SWELL_TOKEN", raising=False)


def check(settings: Settings, name: str) -> Check:
    return next(check for check in examine(settings).checks if check.name == name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_machine_that_has_everything_has_no_problems(tmp_path: Path) -> None:
    examination = examine(Settings(home=tmp_path / "home", port=free_port()))
    assert not examination.has_problems
    console = Console(width=200)
    with console.capture() as captured:
        console.print(examination_table(examination))
    assert len(captured.get().splitlines()) == len(examination.checks)
    assert "torch" in captured.get()


def test_a_home_that_cannot_be_written_to_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = Settings(home=tmp_path / "file" / "home", port=free_port())
    assert check(settings, "SWELL_HOME").verdict is Verdict.PROBLEM
    assert examine(settings).has_problems


def test_a_port_that_is_taken_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = check(Settings(home=tmp_path, port=port), "server")
    assert found.verdict is Verdict.PROBLEM
    assert "SWELL_PORT" in found.detail


def test_a_dashboard_that_is_not_built_is_only_a_warning(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, port=free_port(), web_dist=tmp_path)
    assert check(settings, "dashboard").verdict is Verdict.WARNING
    assert not examine(settings).has_problems


def test_libraries_of_another_version_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda _: ["numpy<1", "no-such-library", 'never; extra == "dev"'])
    found = check(Settings(home=tmp_path, port=free_port()), "libraries")
    assert found.verdict is Verdict.PROBLEM
    assert "numpy is " in found.detail
    assert "no-such-library is missing" in found.detail
    assert "never" not in found.detail


def test_little_memory_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_MIN_MEMORY_BYTES", 2**60)
    assert check(Settings(home=tmp_path, port=free_port()), "memory").verdict is Verdict.WARNING


@pytest.mark.stack
def test_a_server_that_answers_is_told_and_one_that_does_not_is_a_problem(
    sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWELL_URL", sqlite_server.url)
    assert f"answers at {sqlite_server.url}" in check(sqlite_server.settings, "server").detail
    monkeypatch.setenv("SWELL_TOKEN", "wrong")
    assert check(sqlite_server.settings, "server").verdict is Verdict.PROBLEM
    monkeypatch.setitem(os.environ, "SWELL_URL", "http://127.0.0.1:9")
    assert check(sqlite_server.settings, "server").verdict is Verdict.PROBLEM
