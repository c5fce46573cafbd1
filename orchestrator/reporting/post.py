"""One request to the server's ingest, and what its answer means. Called from the threads that send."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
from pydantic import ValidationError

from orchestrator.contracts.messages import DesiredState, IngestAnswer
from orchestrator.reporting.delivery import Verdict, judge

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What came of a request."""

    verdict: Verdict
    answer: httpx.Response | None
    """None: nobody answered."""
    wish: DesiredState | None
    """What the server wants of the attempt, where it took the message."""


def post(http: httpx.Client, url: str, body: dict[str, Any]) -> Posted:
    """Post once. No answer, or one that is not the server's, means: again, later."""
    try:
        answer = http.post(url, content=orjson.dumps(body), headers={"Content-Type": "application/json"})
    except httpx.HTTPError as error:
        _log.debug("no answer from %s: %r", url, error)
        return Posted(verdict=Verdict.RETRY, answer=None, wish=None)
    verdict = judge(answer.status_code, _problem_type(answer))
    if verdict is not Verdict.DELIVERED:
        return Posted(verdict=verdict, answer=answer, wish=None)
    try:
        wish = IngestAnswer.model_validate_json(answer.content).desired_state
    except ValidationError as error:
        _log.warning("an answer that is not the server's: %s", error)
        return Posted(verdict=Verdict.RETRY, answer=answer, wish=None)
    return Posted(verdict=verdict, answer=answer, wish=wish)


def _problem_type(answer: httpx.Response) -> str:
    try:
        problem = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        return ""
    return str(problem.get("type", "")) if isinstance(problem, dict) else ""
