"""Ports for processes that tests start: none that another test is given, or a connection takes by itself."""

from __future__ import annotations

import itertools
import os
import random
import socket

# Below those that systems give to connections and to whoever asks for any port (from 32768 on Linux).
_FIRST, _PORTS, _MOST_WORKERS = 12_000, 2_500, 8


def _places() -> range:
    """The ports of this process, of the test workers that run at once."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _MOST_WORKERS
    return range(_FIRST + worker * _PORTS, _FIRST + (worker + 1) * _PORTS)


# Not from the first on: another run of the tests may be at work on this machine.
_next = itertools.count(random.randrange(_PORTS))


def free_port() -> int:
    """Return a port on which no process listens; each call another one."""
    places = _places()
    for _ in places:
        port = places[next(_next) % len(places)]
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"all ports from {places[0]} to {places[-1]} are in use")
