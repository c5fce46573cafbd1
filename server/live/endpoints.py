"""One stream of events for everything that a browser shows."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from server.auth.access import Access, requires
from server.auth.standing import StandingAccess
from server.dependencies import Live, Tokens
from server.http.guarded_route import GuardedRoute, token_of
from server.live.schemas import LivePage

router = APIRouter(prefix="/api/v1", tags=["live"], route_class=GuardedRoute)

_PING_S = 15
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "Server-sent events. Each has an id to resume from; `LiveEvent` says what each holds. A `ping` with "
            "neither comes every 15 seconds: a stream that is silent for longer is broken."
        ),
        "content": {"text/event-stream": {"itemSchema": {"$ref": "#/components/schemas/LiveEvent"}}},
    }
}

OnlyRuns = Annotated[list[str], Query(description="Only these runs, by id; none: all.", max_length=200)]


def _ping() -> ServerSentEvent:
    # An event, not a comment: a browser does not tell a page of comments.
    return ServerSentEvent(event="ping", data="{}")


@router.get("/events", operation_id="streamEvents", response_class=EventSourceResponse, responses=_EVENTS)
@requires(Access.READ)
async def stream_events(
    request: Request,
    hub: Live,
    tokens: Tokens,
    run: OnlyRuns = [],  # noqa: B006
    cursor: Annotated[str | None, Query(description="As Last-Event-ID, for clients that cannot set it.")] = None,
    last_event_id: Annotated[str | None, Header(description="Id of the last event that arrived.")] = None,
) -> EventSourceResponse:
    """What happens, as it happens. After a break, send the last id: nothing is lost and nothing comes twice.

    It ends with the first event after its token was revoked or has expired.
    """
    events = hub.stream(runs=frozenset(run), after=last_event_id or cursor)
    allowed = StandingAccess(tokens, token_of(request) or "").while_it_holds(events)
    return EventSourceResponse(allowed, ping=_PING_S, ping_message_factory=_ping)


@router.get("/events/poll", operation_id="pollEvents", response_model=LivePage)
@requires(Access.READ)
async def poll_events(
    hub: Live,
    run: OnlyRuns = [],  # noqa: B006
    cursor: Annotated[
        str | None, Query(max_length=200, description="Of the answer before, or the stream's last id; none: begin now.")
    ] = None,
    timeout_s: Annotated[
        float, Query(ge=0, le=60, allow_inf_nan=False, description="How long to wait for the first event.")
    ] = 25.0,
) -> Response:
    """What the stream tells, for clients that cannot hold it open. Ask without a cursor first, then with the newest."""
    part = await hub.poll(runs=frozenset(run), after=cursor, timeout_s=timeout_s)
    body = b'{"cursor":"%s","events":[%s]}' % (part.cursor.encode(), b",".join(part.events))
    return Response(body, media_type="application/json")
