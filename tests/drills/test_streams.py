from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.drills import streams
from tests.drills.server_process import server_with_runs
from tests.server.cases import case

pytestmark = pytest.mark.stack


def test_streams_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    num_streams = case("server.json", "sigterm-with-streams")["given"]["open_streams"]
    # How long the end takes is for the drill that is run by hand: here other tests share the machine.
    outcome = streams.drill(tmp_path / "home", seconds=4, num_streams=num_streams, max_end_s=60)
    assert not outcome.problems


def test_a_client_that_reads_nothing_does_not_hold_the_end_up(tmp_path: Path) -> None:
    with server_with_runs(tmp_path / "home", ["any"]) as (server, _), socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        # More than all buffers on the way hold.
        deaf.sendall(f"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode() * 60)
        deaf.recv(64)
        code, _ = server.terminate()
    assert code == 0
