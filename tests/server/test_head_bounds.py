"""Connections that send no request, or half a head, against a real server."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from server.http.head_bounds import MAX_HEAD_BYTES
from tests.server.live_server import LiveServer, running_server

pytestmark = pytest.mark.stack
DEADLINE_S = 0.5
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Sl"
WHOLE = HALF + b"ow: yes\r\n\r\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with running_server(tmp_path_factory.mktemp("hasty"), head_deadline_s=DEADLINE_S) as live:
        yield live


def connected(live: LiveServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", live.settings.port), timeout=30)


def rest_of(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_half_a_head_is_answered_when_its_time_is_up_and_hinders_nobody(hasty: LiveServer) -> None:
    held = [connected(hasty) for _ in range(200)]
    for one in held:
        one.sendall(HALF)
    assert hasty.get("/limits")["head_deadline_s"] == DEADLINE_S
    for one in held:
        with closing(one):
            assert rest_of(one).startswith(b"HTTP/1.1 408 ")


def test_a_head_that_trickles_gets_no_more_time(hasty: LiveServer) -> None:
    began = time.monotonic()
    with closing(connected(hasty)) as slow:
        slow.settimeout(DEADLINE_S / 10)
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        answer = b""
        while not answer and time.monotonic() < began + 20:
            slow.sendall(b"X-Slow: a\r\n")
            try:
                answer = slow.recv(65536)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_without_a_request_is_closed_without_a_word(hasty: LiveServer, sent: bytes) -> None:
    with closing(connected(hasty)) as idle:
        idle.sendall(sent)
        assert rest_of(idle) == b""


def test_the_next_request_of_a_connection_has_the_same_time(hasty: LiveServer) -> None:
    with closing(connected(hasty)) as again:
        again.sendall(WHOLE)
        assert again.recv(65536).startswith(b"HTTP/1.1 200 ")
        again.sendall(HALF)
        assert b"HTTP/1.1 408 " in rest_of(again)


def test_an_answer_may_take_longer_than_a_head(hasty: LiveServer) -> None:
    began = time.monotonic()
    cursor = hasty.get("/events/poll", timeout_s=0)["cursor"]
    assert hasty.get("/events/poll", timeout_s=3 * DEADLINE_S, cursor=cursor)["events"] == []
    assert time.monotonic() - began > 2 * DEADLINE_S


def test_a_head_without_end_is_refused_before_it_fills_the_memory(hasty: LiveServer) -> None:
    with closing(connected(hasty)) as long:
        long.sendall(HALF)
        answer, num_sent = b"", 0
        long.settimeout(0.01)
        while not answer and num_sent < 4 * MAX_HEAD_BYTES:
            long.sendall(b"a" * 4096)
            num_sent += 4096
            try:
                answer = long.recv(65536)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 431 ")
