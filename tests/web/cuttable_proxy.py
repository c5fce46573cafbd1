"""A proxy between a browser and a server that a test can cut, as a broken network or a dead server does, and that can
keep one kind of request waiting, as a loaded machine does."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_HELD_AT_MOST_S = 60.0


class CuttableProxy:
    """Passes bytes on from a port of its own, and remembers the first line of each connection's first request."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._held_path: str | None = None
        self._released = threading.Event()
        self.request_lines: list[str] = []
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # A listener that is only closed stays open while a thread waits in accept.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def hold(self, path: str) -> None:
        """Let requests of this path wait until `release`."""
        self._released.clear()
        self._held_path = path

    def release(self) -> None:
        self._held_path = None
        self._released.set()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target_port)) as server:
            with self._lock:
                self._open |= {client, server}
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server, self._on_request)
            back.join()
            with self._lock:
                self._open -= {client, server}

    def _on_request(self, data: bytes) -> None:
        line = data.split(b"\r\n", 1)[0].decode(errors="replace")
        self.request_lines.append(line)
        if self._held_path is not None and self._held_path in line:
            self._released.wait(_HELD_AT_MOST_S)


def _pass_on(source: socket.socket, sink: socket.socket, on_data: Callable[[bytes], None] | None = None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            if on_data is not None:
                on_data(data)
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
