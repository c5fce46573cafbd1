"""The login link, and tokens for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from server.auth.access import Access, requires
from server.auth.schemas import LoginLink, NewAdminToken, NewToken, TokenList, TokenRequest
from server.auth.tokens import CODE_LIFETIME, SESSION_LIFETIME
from server.dependencies import SessionCookie, Tokens
from server.http.guarded_route import GuardedRoute
from server.http.whole_number import WholeNumber

router = APIRouter(tags=["access"], route_class=GuardedRoute)

_REFUSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Swell: login link</title>
<h1>This login link does not work any more</h1>
<p>A link logs one browser in, once, within {minutes} minutes.
Run <code>swell login</code> where the server's data lies to get a new one.</p></html>"""


@router.get("/login", operation_id="login", include_in_schema=False)
@requires(Access.PUBLIC)
def login(request: Request, tokens: Tokens, cookie: SessionCookie, code: str = "", next: str = "/") -> Response:  # noqa: A002
    """Turn the code of a login link into a cookie, and go to the dashboard."""
    session = tokens.redeem_login_code(code)
    if session is None:
        page = _REFUSED.format(minutes=int(CODE_LIFETIME.total_seconds() // 60))
        return HTMLResponse(page, HTTPStatus.GONE, headers={"Cache-Control": "no-store"})
    response = RedirectResponse(_local_path(next), HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"})
    response.set_cookie(
        cookie,
        session,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/api/v1/login-links", status_code=201, operation_id="createLoginLink")
@requires(Access.ADMIN)
def create_login_link(tokens: Tokens) -> LoginLink:
    """Make a link that logs one browser in, once."""
    return LoginLink(
        url="/login?" + urlencode({"code": tokens.create_login_code()}), expires_at=datetime.now(UTC) + CODE_LIFETIME
    )


@router.post("/api/v1/tokens", status_code=201, operation_id="createToken")
@requires(Access.ADMIN)
def create_token(wanted: TokenRequest, tokens: Tokens) -> NewToken:
    """Make a token for programs, e.g. one that may only read."""
    token_id, token = tokens.create(access=Access(wanted.access), name=wanted.name)
    return NewToken(id=token_id, name=wanted.name, access=wanted.access, token=token)


@router.get("/api/v1/tokens", operation_id="listTokens")
@requires(Access.ADMIN)
def list_tokens(tokens: Tokens) -> TokenList:
    """Tokens of programs and browsers, without their secrets. The one in the server's own file is not among them."""
    return TokenList(items=tuple(tokens.known()))


@router.delete("/api/v1/tokens/{token_id}", status_code=204, operation_id="revokeToken")
@requires(Access.ADMIN)
def revoke_token(token_id: Annotated[WholeNumber, Path(ge=1, le=2**53 - 1)], tokens: Tokens) -> None:
    """End a token, or log a browser out, at once."""
    tokens.revoke(token_id)


@router.post("/api/v1/tokens/{token_id}/rotate", operation_id="rotateToken")
@requires(Access.ADMIN)
def rotate_token(token_id: Annotated[WholeNumber, Path(ge=1, le=2**53 - 1)], tokens: Tokens) -> NewToken:
    """Give a program's token another secret. The old one ends at once."""
    return tokens.rotate(token_id)


@router.post("/api/v1/admin-token/rotate", operation_id="rotateAdminToken")
@requires(Access.ADMIN)
def rotate_admin_token(tokens: Tokens) -> NewAdminToken:
    """Give the admin token another secret, in the server's own file too. The old one ends at once."""
    return NewAdminToken(token=tokens.rotate_admin())


def _local_path(path: str) -> str:
    # `//host` and `/\host` leave the site in some browsers.
    return path if path.startswith("/") and path[1:2] not in ("/", "\\") else "/"
