import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from server.supervisor.job_reason import ended_reason, exit_sentence
from server.supervisor.jobs import Job, JobClient, JobError, JobStatus

TRACEBACK = "Traceback (most recent call last):\n  File ...\nValueError: Job with submission_id r-1 already exists.\n."


@contextmanager
def client(answer: Callable[[httpx.Request], httpx.Response]) -> Iterator[JobClient]:
    jobs = JobClient(dashboard_url="http://head", token="secret", transport=httpx.MockTransport(answer))
    yield jobs
    jobs.close()


def row(status: str, message: str | None = "") -> dict[str, object]:
    return {"submission_id": "r-1", "status": status, "message": message}


def test_a_submit_says_all_that_ray_needs_and_who_asks() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    with client(answer) as jobs:
        jobs.submit("r-1", entrypoint="python -m x", environment={"A": "b"})
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {
        "submission_id": "r-1",
        "entrypoint": "python -m x",
        "runtime_env": {"env_vars": {"A": "b"}},
    }


def test_a_submit_that_is_repeated_is_no_error() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return (
            httpx.Response(500, text=TRACEBACK)
            if request.method == "POST"
            else httpx.Response(200, json=row("RUNNING"))
        )

    with client(answer) as jobs:
        jobs.submit("r-1", entrypoint="x", environment={})


def test_a_submit_that_ray_refuses_tells_the_cause_and_not_the_traceback() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return (
            httpx.Response(500, text="Traceback\n  File\nRuntimeError: no room\n.")
            if request.method == "POST"
            else httpx.Response(404)
        )

    with client(answer) as jobs, pytest.raises(JobError, match=r"job r-1: RuntimeError: no room$"):
        jobs.submit("r-1", entrypoint="x", environment={})


def test_a_job_that_the_head_never_had_is_none_and_stopping_it_is_no_error() -> None:
    with client(lambda _: httpx.Response(404, text="Job does not exist")) as jobs:
        assert jobs.get("r-1") is None
        assert jobs.logs("r-1") == ""
        jobs.stop("r-1")


def test_only_jobs_that_were_submitted_and_have_not_ended_are_alive() -> None:
    rows = [row("RUNNING"), row("PENDING") | {"submission_id": "r-2"}, row("FAILED") | {"submission_id": "r-3"}]
    driver_without_submission = row("RUNNING") | {"submission_id": None}
    with client(lambda _: httpx.Response(200, json=[*rows, driver_without_submission])) as jobs:
        assert jobs.alive() == ["r-1", "r-2"]


def test_a_head_that_does_not_answer_is_an_error_of_its_own() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with client(answer) as jobs, pytest.raises(JobError, match="does not answer: refused"):
        jobs.get("r-1")


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (JobStatus.SUCCEEDED, "Job finished", "The driver ended with exit code 0 and without its last report."),
        (JobStatus.STOPPED, "", "The Ray job was stopped, and not by this server."),
        (
            JobStatus.FAILED,
            "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\n"
            "Running entrypoint for job r-1: python\n"
            "2026-11-30 04:13:25,216\tINFO worker.py:1691 -- Using address\n"
            "\x1b[1mRuntimeError: no wood\x1b[0m\n",
            "The driver ended with exit code 1 and without its last report.\n\nRuntimeError: no wood",
        ),
        (
            JobStatus.FAILED,
            "Unexpected error: the job supervisor died",
            "The driver was ended from outside and could not make its last report.\n\n"
            "Unexpected error: the job supervisor died",
        ),
        (JobStatus.FAILED, "", "The driver was ended from outside and could not make its last report."),
    ],
)
def test_the_end_of_a_job_is_one_sentence_and_what_it_printed_last(
    status: JobStatus, message: str, expected: str
) -> None:
    assert ended_reason(Job(job_id="r-1", status=status, message=message)) == expected


@pytest.mark.parametrize("code", [137, -9])
def test_a_driver_that_was_killed_is_told_by_its_signal_and_the_usual_cause(code: int) -> None:
    assert exit_sentence(code) == (
        "The driver was killed by signal 9 (SIGKILL), as the system does when memory runs out,"
        f" and made no last report (exit code {code})."
    )


@pytest.mark.parametrize(
    ("code", "name"), [(134, "6 (SIGABRT)"), (-11, "11 (SIGSEGV)"), (143, "15 (SIGTERM)"), (-2, "2 (SIGINT)")]
)
def test_every_signal_is_named(code: int, name: str) -> None:
    assert f"killed by signal {name}" in exit_sentence(code)


@pytest.mark.parametrize("code", [0, 1, 2, 127, 128, 255, 228, -200])
def test_an_exit_code_that_is_no_signal_is_told_as_it_is(code: int) -> None:
    assert exit_sentence(code) == f"The driver ended with exit code {code} and without its last report."


def test_what_was_printed_begins_with_a_whole_line() -> None:
    printed = "\n".join(f"{k:03} " + "x" * 300 for k in range(30))
    message = f"Job entrypoint command failed with exit code 137, last available logs (...):\n{printed}"
    reason = ended_reason(Job(job_id="r-1", status=JobStatus.FAILED, message=message))
    tail = reason.partition("\n\n")[2]
    assert re.match(r"\d{3} x", tail)
    assert tail.endswith("\n029 " + "x" * 300)
    assert 3600 < len(tail) <= 4000


def test_a_long_message_keeps_its_end() -> None:
    message = (
        "Job entrypoint command failed with exit code -9, last available logs (...):\n" + "x" * 10_000 + "\nthe end"
    )
    reason = ended_reason(Job(job_id="r-1", status=JobStatus.FAILED, message=message))
    assert "exit code -9" in reason
    assert reason.endswith("the end")
    assert len(reason) < 4200


def test_warnings_about_the_code_of_libraries_are_left_out() -> None:
    printed = (
        "/lib/reasoning_gym/a.py:12: SyntaxWarning: invalid escape sequence '\\d'\n"
        '  pattern = "\\d"\n'
        "/lib/b.py:3: DeprecationWarning: old\n"
        "Traceback (most recent call last):\n"
        '  File "main.py", line 3\n'
        "ValueError: the cause\n"
    )
    message = f"Job entrypoint command failed with exit code 1, last available logs (truncated):\n{printed}"
    reason = ended_reason(Job(job_id="r-1", status=JobStatus.FAILED, message=message))
    assert reason.partition("\n\n")[2] == (
        'Traceback (most recent call last):\n  File "main.py", line 3\nValueError: the cause'
    )
