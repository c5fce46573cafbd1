"""Serves the built dashboard for whatever no route is known: its files, and its page for every other address."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Swell</title>
<h1>The dashboard is not built</h1>
<p>The server runs, and its API answers under <code>/api/v1</code>.
Run <code>make web</code> in the repository, then load this page again.</p></html>"""
_FOREVER = "public, max-age=31536000, immutable"


class Dashboard:
    """The app behind all routes. Files under assets/ have a hash in their name and never change."""

    def __init__(self, web_dist: Path) -> None:
        self._index = web_dist / "index.html"
        self._files = StaticFiles(directory=web_dist, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise HTTPException(404)
        response = await self._respond(scope)
        await response(scope, receive, send)

    async def _respond(self, scope: Scope) -> Response:
        path = scope["path"]
        if path == "/api" or path.startswith("/api/"):
            raise HTTPException(404, f"There is nothing at {path}.")
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        if not self._index.is_file():
            return HTMLResponse(_NOT_BUILT, 503, headers={"Cache-Control": "no-store"})
        try:
            response = await self._files.get_response(self._files.get_path(scope), scope)
        except HTTPException:
            if path.startswith("/assets/"):
                raise
            response = await self._files.get_response("index.html", scope)
        response.headers["Cache-Control"] = _FOREVER if path.startswith("/assets/") else "no-cache"
        return response
