"""`swell db …` as a shell runs it, and that no other command pays for it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.cli.main import main
from server.cli.serving import serving

Swell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def swell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Swell:
    monkeypatch.setenv("SWELL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SWELL_DATABASE_URL", raising=False)
    (tmp_path / "home").mkdir()

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swell", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def told(result: tuple[int, str, str]) -> Any:
    assert result[0] == 0, result[2]
    return json.loads(result[1])


def test_a_database_is_upgraded_once_and_backed_up(swell: Swell, tmp_path: Path) -> None:
    first = told(swell("db", "upgrade", "--json"))
    assert (first["before"], first["copy_path"]) == (None, None)
    assert f"at revision {first['revision']} already" in swell("db", "upgrade")[1]
    done = told(swell("db", "backup", str(tmp_path / "copy.db"), "--json"))
    assert done == {"file": str(tmp_path / "copy.db"), "bytes": (tmp_path / "copy.db").stat().st_size}
    code, _, err = swell("db", "backup", str(tmp_path / "copy.db"))
    assert (code, "copy.db" in err) == (1, True)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_is_not_started_on_a_database_that_cannot_be_used(
    swell: Swell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "text.db").write_text("no database\n" * 100)
    urls = {"sqlite": f"sqlite:///{tmp_path}/text.db", "postgresql": "postgresql://nobody@127.0.0.1:9/none"}
    monkeypatch.setenv("SWELL_DATABASE_URL", urls[kind])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    code, _, err = swell("up", "--no-browser", "--port", str(port))
    assert code == 1
    assert err.startswith(f"No database: {urls[kind]}: ")


def test_nothing_is_changed_under_a_server(swell: Swell, tmp_path: Path) -> None:
    with serving(tmp_path / "home", "http://127.0.0.1:1"):
        code, _, err = swell("db", "upgrade", "--json")
    assert (code, json.loads(err)["type"]) == (1, "/problems/server-runs")


def test_what_cannot_be_moved_is_told(swell: Swell, tmp_path: Path) -> None:
    code, _, err = swell("db", "move", str(tmp_path / "none.db"), "postgresql://nobody@127.0.0.1:9/none")
    assert (code, "none.db" in err) == (2, True)
    (tmp_path / "text.db").write_text("no database\n" * 100)
    for source, sentence in ((tmp_path / "text.db", "text.db: file is not a database"), (tmp_path / "new.db", ":***@")):
        if source.name == "new.db":
            told(swell("db", "upgrade", "--json"))
            told(swell("db", "backup", str(source), "--json"))
        code, _, err = swell("db", "move", str(source), "postgresql://nobody:secret@127.0.0.1:9/none")
        assert (code, sentence in err, "secret" in err) == (1, True, False), err


def test_a_database_is_moved_to_postgresql(
    swell: Swell, tmp_path: Path, postgres_uri: str, empty_postgres: str
) -> None:
    told(swell("db", "upgrade", "--json"))
    moved = told(swell("db", "move", str(tmp_path / "home" / "swell.db"), empty_postgres, "--json"))
    assert {"runs", "steps"} <= {table["name"] for table in moved["tables"]}


@pytest.fixture
def empty_postgres(postgres_uri: str) -> Any:
    import psycopg

    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE DATABASE moved_to")
    yield postgres_uri.replace("/postgres?", "/moved_to?")
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("DROP DATABASE moved_to WITH (FORCE)")


def test_the_command_line_starts_without_what_only_a_server_needs() -> None:
    script = "import sys, server.cli.main; print(sorted({m.split('.')[0] for m in sys.modules} & {*sys.argv[1:]}))"
    heavy = ["torch", "ray", "megatron", "transformers", "fastapi", "sqlalchemy", "alembic", "uvicorn"]
    done = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
