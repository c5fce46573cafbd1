from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import server
from server.auth.schemas import TokenList
from server.page import Page
from server.runs.schemas import RunPage
from trainer.contracts.text_model import TextModel


def test_a_page_goes_over_its_items_and_keeps_the_rest() -> None:
    page = RunPage(items=(), next_cursor="c", total=3, by_state={})
    assert (list(page), page.total) == ([], 3)
    made = {"id": 7, "name": "grafana", "kind": "api", "access": "read", "created_at": "2026-01-01T00:00:00Z"}
    nothing_since = {"expires_at": None, "rotated_at": None, "revoked_at": None}
    tokens = TokenList.model_validate({"items": [made | nothing_since]})
    assert [token.name for token in tokens] == ["grafana"]
    assert TokenList.model_validate_json(tokens.model_dump_json()) == tokens


def test_every_answer_with_items_is_a_page() -> None:
    answers = [model for model in _answers() if "items" in model.model_fields]
    assert len(answers) > 10
    assert [model.__name__ for model in answers if not issubclass(model, Page)] == []


def _answers() -> Iterator[type[TextModel]]:
    for found in pkgutil.walk_packages(server.__path__, "server."):
        if found.name.endswith(".schemas"):
            members = vars(importlib.import_module(found.name)).values()
            yield from (member for member in members if isinstance(member, type) and issubclass(member, TextModel))
