import httpx

from server.cli.problem import ExitCode, exit_code_of
from server.cli.run_commands import RunOrder
from server.cli.tables import duration, number, problem_text, sparkline
from server.client.problem import FieldProblem, Problem, error_of, local_problem
from server.http import problems
from server.runs.sorting import SortKey


def test_a_sparkline_shows_the_way_from_the_smallest_to_the_largest() -> None:
    assert sparkline([1, 4, 8]) == "▁▄█"
    assert sparkline([]) == ""
    assert sparkline([5]) == "▄"
    assert sparkline([5, 5, 5]) == "▄▄▄"
    assert sparkline(range(1000), width=8) == "▁▂▃▄▅▆▇█"
    assert sparkline([1, 2], width=1) == "▄"


def test_numbers_are_short_and_tell_what_is_no_number() -> None:
    assert [number(value) for value in (None, 64, 0.000123456, 1234567.0, "NaN", float("inf"))] == [
        "–",
        "64",
        "0.0001235",
        "1.235e+06",
        "NaN",
        "inf",
    ]


def test_durations_have_hours_only_when_there_are_any() -> None:
    assert (duration(5), duration(75.9), duration(3700)) == ("0:05", "1:15", "1:01:40")


def test_a_problem_is_told_field_by_field_with_the_place_where_each_was_written() -> None:
    problem = Problem(
        type="/problems/invalid",
        title="Unprocessable Content",
        status=422,
        detail="/batch/typ: unknown field (1 more)",
        errors=(FieldProblem(pointer="/batch/typ", detail="unknown field"), FieldProblem(pointer="", detail="wrong")),
    )
    text = problem_text(problem, {"/batch/typ": "run.yaml:7", "": "run.yaml:1"}.__getitem__).plain
    assert text.splitlines() == [
        "run.yaml:7  batch.typ: unknown field",
        "run.yaml:1  the whole: wrong",
    ]


def test_a_refusal_without_fields_is_told_in_its_own_words_and_not_by_its_status() -> None:
    refused = Problem(type="/problems/run-ended", title="Conflict", status=409, detail="The run is failed.")
    assert problem_text(refused).plain == "The run is failed."
    assert (
        problem_text(local_problem("no-server", "No server", "Nobody answers.")).plain == "No server: Nobody answers."
    )


def test_the_client_knows_every_field_of_the_servers_problem() -> None:
    assert set(Problem.model_fields) == set(problems.Problem.model_fields)
    assert set(FieldProblem.model_fields) == set(problems.FieldProblem.model_fields)


def answer(status: int) -> httpx.Response:
    return httpx.Response(status, request=httpx.Request("GET", "http://127.0.0.1/"))


def test_exit_codes_tell_bad_input_from_absence_and_refusal() -> None:
    assert [exit_code_of(error_of(answer(status))) for status in (422, 400, 404, 409, 500)] == [
        ExitCode.BAD_INPUT,
        ExitCode.BAD_INPUT,
        ExitCode.NOT_FOUND,
        ExitCode.FAILED,
        ExitCode.FAILED,
    ]


def test_the_command_line_knows_everything_that_runs_are_ordered_by() -> None:
    assert {order.value for order in RunOrder} == {key.value for key in SortKey}
