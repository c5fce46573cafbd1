"""Free TCP ports for a Ray head, so that several heads can live on one machine."""

from __future__ import annotations

import random
import socket

# Ray's workers take 10002 to 19999; the system hands out ports from 32768 on to whoever asks.
_LOWEST, _HIGHEST = 20_000, 32_000


def free_ports(count: int) -> tuple[int, ...]:
    """That many different ports on which nothing listens. Somebody else may take one before the caller does.

    Raises OSError when there are not that many.
    """
    found: list[int] = []
    for port in random.sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST):
        if can_listen("0.0.0.0", port):
            found.append(port)
        if len(found) == count:
            return tuple(found)
    raise OSError(f"only {len(found)} free ports between {_LOWEST} and {_HIGHEST}, a Ray head needs {count}")


def can_listen(host: str, port: int) -> bool:
    """Whether the address exists on this machine and nothing listens there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Connections of a server that just ended linger for a minute, and keep nobody from listening.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
