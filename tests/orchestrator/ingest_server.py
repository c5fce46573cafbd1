"""A small real HTTP server that answers a reporter as a test tells it to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from orchestrator.contracts.messages import IngestAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server says to one request. A `status` of 0 closes the connection without a word."""

    status: int = 200
    body: dict[str, Any] = field(default_factory=lambda: {"accepted": 1, "duplicates": 0, "desired_state": "run"})
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str = "about:blank", **headers: str) -> Answer:
    return Answer(status=status, body={"type": f"/problems/{code}", "status": status}, headers=headers)


def wish(desired_state: str) -> Answer:
    return Answer(body=IngestAnswer(accepted=1, duplicates=0, desired_state=desired_state).model_dump(mode="json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    path: str
    authorization: str | None
    body: dict[str, Any]
    at_s: float


class IngestServer:
    """Keeps every request. `answer(request)` decides; what was answered 200 counts as taken."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.taken: list[Request] = []
        self.answer: Callable[[Request], Answer] = lambda request: Answer()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def taken_keys(self) -> list[str]:
        """Keys of all events that were taken, in order, repeats included."""
        return [event["key"] for request in self.of("events:batch") for event in request.body["events"]]

    def of(self, endpoint: str) -> list[Request]:
        return [request for request in list(self.taken) if request.path.endswith("/" + endpoint)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = Request(
                    path=self.path, authorization=self.headers["Authorization"], body=body, at_s=time.monotonic()
                )
                outer.requests.append(request)
                answer = outer.answer(request)
                if answer.status == 0:
                    self.close_connection = True
                    return
                if answer.status == 200:
                    outer.taken.append(request)
                content = orjson.dumps(answer.body)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


def until(condition: Callable[[], bool], *, timeout_s: float = 10.0) -> None:
    """Wait for what another thread brings about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{condition} did not come true within {timeout_s} s")
        time.sleep(0.01)
