"""A proxy between a browser and a server that a test can cut, as a broken network or a dead server does, and that can
keep one kind of request waiting, as a loaded machine does."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_HELD_AT_MOST_S = 60.0


class CuttableProxy:
    """Passes bytes on from a port of its own, and remembers what each connection asked for last."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._last_lines: dict[socket.socket, str] = {}
        self._lock = threading.Lock()
        self._held_path: str | None = None
        self._released = threading.Event()
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open_requests(self, path: str) -> list[str]:
        """The first lines of the requests of this path that connections are at. One that a browser sent a second time,
        as it does where the first connection turns out to be dead, is told once."""
        with self._lock:
            return [line for line in self._last_lines.values() if path in line]

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
            _pass_on(client, server, lambda data: self._on_request(client, data))
            back.join()
            with self._lock:
                self._open -= {client, server}
                self._last_lines.pop(client, None)

    def _on_request(self, client: socket.socket, data: bytes) -> None:
        line = data.split(b"\r\n", 1)[0].decode(errors="replace")
        with self._lock:
            self._last_lines[client] = line
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
