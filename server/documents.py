"""The OpenAPI document, and a page that reads it out without scripts or anything from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from server.auth.access import Access, requires
from server.http.guarded_route import GuardedRoute

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)


@router.get("/openapi.json")
@requires(Access.PUBLIC)
async def openapi_document(request: Request) -> Response:
    """What the API takes and answers (OpenAPI 3.1)."""
    return JSONResponse(request.app.openapi())


@router.get("/docs")
@requires(Access.PUBLIC)
async def docs_page(request: Request) -> Response:
    """The operations of the API on one page."""
    document = request.app.openapi()
    operations = [
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Swell API</title><h1>Swell API</h1>'
        '<p>Schemas: <a href="/openapi.json">openapi.json</a></p><dl>' + "".join(operations) + "</dl></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = ", ".join(parameter["name"] for parameter in operation.get("parameters", []))
    taken = f"<br>Parameters: <code>{escape(parameters)}</code>" if parameters else ""
    return (
        f"<dt><code>{method.upper()} {escape(path)}</code></dt>"
        f"<dd>{escape(operation.get('description', ''))}{taken}</dd>"
    )
