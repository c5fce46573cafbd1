"""`swell plan`: judges a spec and foresees its run, here, without a server; only an earlier run's lengths need one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import ValidationError

from orchestrator.contracts.plan import Lengths, PlanRequest, RunPlan
from orchestrator.contracts.run_spec import RunSpec
from server.cli.spec_file import SpecFile
from server.client.problem import FieldProblem, InvalidError, Problem
from server.http.pointers import field_problems, pointer
from server.http.status_phrase import status_phrase
from trainer.contracts.text_model import FieldError


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What is assumed of a run."""

    lengths: Lengths | None
    kept_frac: float


class PlanningServer(Protocol):
    """What planning after an earlier run needs of a client."""

    def plan(self, spec: RunSpec, *, lengths: Lengths | None, kept_frac: float) -> RunPlan: ...


def plan_here(spec_file: SpecFile, options: PlanOptions) -> RunPlan:
    """Foresee the run without a server. Raises InvalidError with the fields that make it impossible."""
    # NumPy and the task library take longer than any other command as a whole.
    from orchestrator.planning.plan import plan_run
    from orchestrator.preflight import find_wrong, warn_of_this_machine

    request = PlanRequest(spec=_checked(spec_file.spec), lengths=options.lengths, kept_frac=options.kept_frac)
    if found := find_wrong(request.spec):
        raise _refused([(pointer(field.split(".")), message) for field, message in found])
    try:
        plan = plan_run(request)
    except FieldError as error:
        paths = [pointer(field.split(".")).removeprefix("/spec") for field in error.fields]
        raise _refused([(path, str(error)) for path in paths]) from error
    return warn_of_this_machine(plan, request.spec)


def plan_after_run(server: PlanningServer, spec_file: SpecFile, options: PlanOptions) -> RunPlan:
    """Foresee the run with the lengths of an earlier one. Raises InvalidError with pointers into the spec file."""
    spec = _checked(spec_file.spec)
    try:
        return server.plan(spec, lengths=options.lengths, kept_frac=options.kept_frac)
    except InvalidError as error:
        fields = [
            field.model_copy(update={"pointer": field.pointer and field.pointer.removeprefix("/spec")})
            for field in error.errors
        ]
        raise InvalidError(error.problem.model_copy(update={"errors": tuple(fields)})) from error


def with_run(spec_file: SpecFile, run: str) -> SpecFile:
    """The file, knowing that `--run` is where the lengths were asked for."""
    return replace(spec_file, changed=spec_file.changed | {"/lengths/run": f"--run {run}"})


def _checked(spec: dict[str, Any]) -> RunSpec:
    try:
        return RunSpec.model_validate(spec)
    except ValidationError as error:
        located = [entry | {"loc": ("body", *entry["loc"])} for entry in error.errors()]
        raise _refused([(found["pointer"], found["detail"]) for found in field_problems(located, spec)]) from error


def _refused(found: list[tuple[str, str]]) -> InvalidError:
    """The same problem that the server answers with when such a spec is submitted."""
    errors = tuple(FieldProblem(pointer=where, detail=detail) for where, detail in found)
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    problem = Problem(
        type="/problems/invalid",
        title=status_phrase(422),
        status=422,
        detail=f"{errors[0].pointer or 'body'}: {errors[0].detail}{more}",
        errors=errors,
    )
    return InvalidError(problem)
