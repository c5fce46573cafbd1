"""The route class of every endpoint: first the rule, then the body's bounds, then FastAPI."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from server.audit.pending import PendingNote, pending_note
from server.auth.access import Access, Principal, rule_of
from server.auth.tokens import TokenStore
from server.http.problems import ProblemError
from server.http.strict_request import StrictRequest
from server.telemetry.request_id import current_request_id


class GuardedRoute(APIRoute):
    """Refuses to exist without a rule, and to run without a principal that fits it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        access = rule_of(self.endpoint)
        handle = super().get_route_handler()
        path, operation, status = self.path_format, self.operation_id or self.name, self.status_code or 200
        is_batch = access is Access.INGEST and path.endswith(":batch")
        changes = access in (Access.WRITE, Access.ADMIN) and not (self.methods or set()) <= {"GET", "HEAD"}

        async def guarded(request: Request) -> Response:
            request.state.route = path
            if "\0" in request.url.path or "%00" in request.url.query:
                # PostgreSQL holds no such text, so it cannot be the name of anything.
                raise ProblemError(400, "malformed-address", "The address holds the character U+0000; leave it out.")
            strict = StrictRequest(request.scope, request.receive)
            try:
                if access is not Access.PUBLIC:
                    strict.state.principal = await _authorized(strict, access)
                if changes:
                    pending_note.set(_note(strict, operation, status))
                with request.app.state.services.recording.passing() if is_batch else nullcontext():
                    return await handle(strict)
            except ProblemError:
                await strict.drain()
                raise

        return guarded


def _note(request: Request, operation: str, status: int) -> PendingNote:
    """Who asks for the change; it is kept together with the change, or not at all."""
    principal: Principal = request.state.principal
    return PendingNote(
        actor=principal.name,
        operation=operation,
        path=request.url.path,
        status=status,
        request_id=current_request_id.get() or "",
    )


def token_of(request: Request) -> str | None:
    """The token that a request came with."""
    return _bearer(request) or request.cookies.get(request.app.state.services.session_cookie)


async def _authorized(request: Request, access: Access) -> Principal:
    services = request.app.state.services
    token = token_of(request)
    tokens: TokenStore = services.tokens
    principal = None if token is None else tokens.remembered(token)
    if token is not None and principal is None:
        principal = await run_in_threadpool(tokens.principal, token)
    if principal is None:
        detail = "This needs a token." if token is None else "The token is unknown, expired or revoked."
        raise ProblemError(
            401,
            "unauthorized",
            f"{detail} Send `Authorization: Bearer …`, or open a login link from `swell up`.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if not principal.may(access, run_id=request.path_params.get("run_id")):
        raise ProblemError(403, "forbidden", f"This needs {access} access; the token grants {principal.access}.")
    return principal


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
