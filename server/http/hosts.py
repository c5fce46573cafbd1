"""Refuses requests under a foreign name (DNS rebinding) or from a foreign page, whatever their method."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.problems import ProblemError, problem_response
from server.settings import Settings

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HostGuard:
    """Stands in front of everything else."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._allowed = _LOOPBACK | {settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := self._problem(Headers(scope=scope))) is not None:
            await problem_response(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _problem(self, headers: Headers) -> ProblemError | None:
        # Two of them are two answers to one question: whoever stands before this server may have read the other.
        hosts = headers.getlist("host")
        host = ", ".join(hosts)
        if len(hosts) != 1 or host_name(host) not in self._allowed:
            return ProblemError(
                421,
                "unknown-host",
                f"This server is not known as {host!r}. Add the name to SWELL_ALLOWED_HOSTS to use it.",
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return ProblemError(403, "foreign-origin", f"A page of {origin!r} may not use this server.")
        return None


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets.

    >>> host_name("[::1]:8642"), host_name("LocalHost:80"), host_name("10.0.0.1")
    ('::1', 'localhost', '10.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
