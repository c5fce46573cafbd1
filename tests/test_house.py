"""Rules of the house that a linter has no word for."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from pydantic import BaseModel

from orchestrator.contracts.run_spec import RunSpec

ROOT = Path(__file__).parents[1]
PACKAGES = {"server", "orchestrator", "trainer"}
OPEN_TO_OTHERS = re.compile(r"\w+\.contracts\b|orchestrator\.(preflight|planning|reporting\.(journal|sender))\b")
"""What one package may import of another: plain data, the two places where the server asks for a judgement, and what
carries records to a server, for those who record from elsewhere (`server/client/`)."""
WIRING = {"orchestrator/main.py"}
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
BANNED_NAMES = {"utils.py", "common.py", "helpers.py", "misc.py"}


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def source_files() -> list[Path]:
    return [
        path
        for path in tracked("*.py")
        if "migrations/versions" not in str(path) and ROOT / "tests" not in path.parents
    ]


def test_files_and_functions_stay_readable() -> None:
    long = []
    for path in source_files():
        text = path.read_text(encoding="utf8")
        name = path.relative_to(ROOT)
        if text.count("\n") > MAX_FILE_LINES:
            long.append(f"{name}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long.append(f"{name}:{node.lineno} {node.name}: {lines} lines")
    assert not long


def test_files_are_named_by_what_is_in_them() -> None:
    assert not [path for path in source_files() if path.name in BANNED_NAMES or "manager" in path.stem]


def test_modules_open_with_what_they_are_for() -> None:
    missing = [
        path.relative_to(ROOT)
        for path in source_files()
        if path.read_text(encoding="utf8").strip()
        and ast.get_docstring(ast.parse(path.read_text(encoding="utf8"))) is None
    ]
    assert not missing


def test_packages_meet_in_contracts_only() -> None:
    crossing = []
    for path in source_files():
        name = path.relative_to(ROOT).as_posix()
        own = name.split("/")[0]
        if own not in PACKAGES or name in WIRING:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            crossing += [
                f"{name} imports {module}"
                for module in modules
                if module.split(".")[0] in PACKAGES - {own} and not OPEN_TO_OTHERS.match(module)
            ]
    assert not crossing


def test_the_documents_name_files_that_exist() -> None:
    named = re.compile(r"`((?:bench|examples|migrations|orchestrator|scripts|server|tests|trainer|web)/[\w./-]+)`")
    missing = [
        f"{path.name}: {name}"
        for path in tracked("*.md")
        for name in named.findall(path.read_text(encoding="utf8"))
        if not (ROOT / name).exists()
    ]
    assert not missing


def test_no_file_names_a_package_registry() -> None:
    hosts = re.compile(r"py" r"pi\.org|python" r"hosted\.org|registry\.npm" r"js\.org")
    naming = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf8")
        except UnicodeDecodeError:
            continue
        if hosts.search(text):
            naming.append(path.relative_to(ROOT))
    assert not naming


def spec_models(model: type[BaseModel], seen: set[type[BaseModel]] | None = None) -> set[type[BaseModel]]:
    seen = seen if seen is not None else set()
    if model in seen:
        return seen
    seen.add(model)
    for field in model.model_fields.values():
        for part in _types_in(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                spec_models(part, seen)
    return seen


def _types_in(annotation: object) -> list[object]:
    args = getattr(annotation, "__args__", ())
    return [annotation, *(inner for arg in args for inner in _types_in(arg))]


@pytest.mark.parametrize("model", sorted(spec_models(RunSpec), key=lambda model: model.__name__))
def test_every_field_of_a_run_spec_is_documented(model: type[BaseModel]) -> None:
    undocumented = [name for name, field in model.model_fields.items() if field.description is None and name != "type"]
    assert not undocumented
