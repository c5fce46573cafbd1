"""Pause, resume, cancel, retry, clone and delete runs."""

from __future__ import annotations

from fastapi import APIRouter, Response

from server.auth.access import Access, requires
from server.dependencies import Asking, Live, Reading, Remover, Runs, Supervisor, Wishes
from server.errors import ConflictError
from server.http.guarded_route import GuardedRoute
from server.runs import queries
from server.runs.changed_spec import changed_spec
from server.runs.clone_name import free_clone_name
from server.runs.machine_check import check_on_this_machine, refuse_secrets
from server.runs.schemas import CancelRequest, CloneName, CloneRequest, DeletedRun, RetryRequest, Run
from server.runs.shown_run import shown_run
from server.runs.version_header import IfMatch, version_of

router = APIRouter(prefix="/api/v1/runs/{run_id}", tags=["runs"], route_class=GuardedRoute)


@router.post("/pause", operation_id="pauseRun")
@requires(Access.WRITE)
def pause_run(
    run_id: str, wishes: Wishes, database: Reading, supervisor: Supervisor, asking: Asking, response: Response
) -> Run:
    """Ask a run to wait after its step, with all its processes. It is `paused` when its driver says so."""
    known = shown_run(database, run_id, response)
    wishes.pause(known.id, by=asking.name)
    supervisor.wake()
    return shown_run(database, known.id, response)


@router.post("/resume", operation_id="resumeRun")
@requires(Access.WRITE)
def resume_run(
    run_id: str, wishes: Wishes, database: Reading, supervisor: Supervisor, asking: Asking, response: Response
) -> Run:
    """Let a paused run go on. Its driver hears of it with its next heartbeat."""
    known = shown_run(database, run_id, response)
    wishes.resume(known.id, by=asking.name)
    supervisor.wake()
    return shown_run(database, known.id, response)


@router.post("/retry", operation_id="retryRun")
@requires(Access.WRITE)
def retry_run(
    run_id: str,
    wishes: Wishes,
    database: Reading,
    supervisor: Supervisor,
    asking: Asking,
    response: Response,
    how: RetryRequest = RetryRequest(),  # noqa: B008
) -> Run:
    """Let a run that failed or was cancelled go on: its next attempt begins at the last checkpoint, or at another."""
    known = shown_run(database, run_id, response)
    wishes.retry(known.id, by=asking.name, from_step=how.from_step)
    supervisor.wake()
    return shown_run(database, known.id, response)


@router.get("/clone-name", operation_id="proposeCloneName")
@requires(Access.READ)
def propose_clone_name(run_id: str, database: Reading) -> CloneName:
    """What a clone of a run would be called now: the run's name with the next number that no run has."""
    with database.read() as connection:
        parent = queries.run_detail(connection, run_id)
        return CloneName(name=free_clone_name(connection, parent.name))


@router.post("/clone", status_code=201, operation_id="cloneRun")
@requires(Access.WRITE)
def clone_run(
    run_id: str,
    runs: Runs,
    database: Reading,
    supervisor: Supervisor,
    response: Response,
    how: CloneRequest = CloneRequest(),  # noqa: B008
) -> Run:
    """Submit the spec of a run again, with changes. The new run tells where it comes from.

    Unless the changes name it, it is called after the run with the next free number: `demo-2`.
    """
    parent = shown_run(database, run_id, response)
    if parent.spec is None:
        raise ConflictError("external-run", "Another framework ran this run; there is no spec to submit again.")
    with database.read() as connection:
        changes = {"name": free_clone_name(connection, parent.name)} | how.changes
    spec = changed_spec(parent.spec, changes)
    refuse_secrets(spec, within=("changes",))
    check_on_this_machine(spec, within=("changes",))
    cloned = runs.create(spec, parent_id=parent.id)
    supervisor.wake()
    response.headers["Location"] = f"/api/v1/runs/{cloned}"
    return shown_run(database, cloned, response)


@router.delete("", status_code=202, operation_id="deleteRun")
@requires(Access.WRITE)
def delete_run(
    run_id: str, wishes: Wishes, remover: Remover, live: Live, asking: Asking, if_match: IfMatch = None
) -> DeletedRun:
    """Delete a run that has ended, with all its records. It is gone at once, and can be restored for a short time."""
    deleted = wishes.delete(run_id, by=asking.name, version=version_of(if_match))
    remover.wake()
    live.ask_again()
    return DeletedRun(id=deleted.run_id, restorable_until=deleted.restorable_until)


@router.post("/restore", operation_id="restoreRun")
@requires(Access.WRITE)
def restore_run(run_id: str, wishes: Wishes, database: Reading, live: Live, asking: Asking, response: Response) -> Run:
    """Take a deletion back, within the time that it told."""
    restored = wishes.restore(run_id, by=asking.name)
    live.ask_again()
    return shown_run(database, restored, response)


@router.post("/cancel", operation_id="cancelRun")
@requires(Access.WRITE)
def cancel_run(
    run_id: str,
    wishes: Wishes,
    database: Reading,
    supervisor: Supervisor,
    response: Response,
    how: CancelRequest = CancelRequest(),  # noqa: B008
) -> Run:
    """Ask a run to stop: after its step, or at once. It is `cancelled` when no process of it is left."""
    wishes.cancel(run_id, how.mode)
    supervisor.wake()
    return shown_run(database, run_id, response)
