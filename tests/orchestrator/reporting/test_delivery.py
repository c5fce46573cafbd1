from __future__ import annotations

from itertools import islice

import pytest

from orchestrator.reporting.delivery import Verdict, judge, retry_after_s, waits_s


@pytest.mark.parametrize(
    ("status", "problem_type", "verdict"),
    [
        (200, "", Verdict.DELIVERED),
        (409, "https://swell.example/problems/stale-attempt", Verdict.FENCED),
        (409, "/problems/stale-attempt", Verdict.FENCED),
        (409, "/problems/conflicting-duplicate", Verdict.REFUSED),
        (409, "", Verdict.REFUSED),
        (401, "", Verdict.FENCED),
        (404, "", Verdict.FENCED),
        (400, "", Verdict.REFUSED),
        (413, "", Verdict.REFUSED),
        (422, "", Verdict.REFUSED),
        (408, "", Verdict.RETRY),
        (429, "", Verdict.RETRY),
        (500, "", Verdict.RETRY),
        (503, "", Verdict.RETRY),
        (302, "", Verdict.RETRY),
    ],
)
def test_each_answer_has_one_meaning(status: int, problem_type: str, verdict: Verdict) -> None:
    assert judge(status, problem_type) is verdict


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), (" 0 ", 0.0), ("86400", 60.0), ("-1", None), ("Wed, 21 Oct", None)],
)
def test_retry_after_is_understood_in_seconds_and_bounded(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_waits_double_up_to_five_seconds_without_end() -> None:
    assert list(islice(waits_s(), 9)) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
