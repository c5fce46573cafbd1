"""What every public function of the trainer tells: a sentence, its arrays' shapes, the paper behind its formula."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trainer.losses import terms
from trainer.losses.policy import python_loss
from trainer.losses.table import LOSSES

ARRAY = re.compile(r"^(Tensor|FloatArray|Indices|(npt\.)?NDArray\[.*\])( \| None)?$")
SHAPE = re.compile(r"\[[^\]]*\]")
YEAR = re.compile(r"\b(19|20)\d\d\b")


class Function(NamedTuple):
    """A public function or method, and its source from `def` to the end of its docstring."""

    where: str
    node: ast.FunctionDef
    head: str
    is_property: bool


def public_functions() -> Iterator[Function]:
    for path in sorted(Path("trainer").rglob("*.py")):
        lines = path.read_text(encoding="utf8").splitlines()
        yield from _functions_in(ast.parse("\n".join(lines)), str(path), lines)


def _functions_in(parent: ast.Module | ast.ClassDef, where: str, lines: list[str]) -> Iterator[Function]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _functions_in(node, f"{where}: {node.name}", lines)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            head = "\n".join(lines[node.lineno - 1 : node.body[0].end_lineno])
            is_property = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
            yield Function(f"{where}: {node.name}", node, head, is_property)


def promised() -> set[str]:
    """Methods that a protocol describes: what implements it need not say it again."""
    return {
        node.name
        for path in Path("trainer").rglob("*.py")
        for parent in ast.walk(ast.parse(path.read_text(encoding="utf8")))
        if isinstance(parent, ast.ClassDef) and "Protocol" in map(ast.unparse, parent.bases)
        for node in parent.body
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
    }


def test_every_public_function_says_what_it_does() -> None:
    described = promised()
    silent = [
        function.where
        for function in public_functions()
        if ast.get_docstring(function.node) is None and not function.is_property and function.node.name not in described
    ]
    assert not silent


def test_every_array_that_comes_or_goes_has_its_shape_told() -> None:
    untold = []
    for where, node, head, _ in public_functions():
        annotations = [argument.annotation for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
        arrays = [
            annotation
            for annotation in (*annotations, node.returns)
            if annotation is not None and ARRAY.match(ast.unparse(annotation))
        ]
        told = (ast.get_docstring(node) or "") + "\n".join(re.findall(r"#.*", head))
        if arrays and not SHAPE.search(told) and node.name not in promised():
            untold.append(where)
    assert not untold


def test_every_formula_cites_its_source() -> None:
    formulas = [loss for loss in LOSSES.values() if loss is not python_loss]
    formulas += [terms.kl_estimate, terms.correction_weights]
    assert not [formula.__name__ for formula in formulas if not YEAR.search(inspect.getdoc(formula) or "")]
