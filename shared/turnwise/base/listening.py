"""Ports that a server listens on."""

from __future__ import annotations

import errno
import socket

from turnwise.errors import AddressInUseError, ConfigurationError

_BACKLOG = 2_048


def listen(host: str, port: int, setting: str) -> socket.socket:
    """Return an open port; 0 takes a free one. `setting` is what an error tells to change.

    Raises `AddressInUseError` for a busy port and `ConfigurationError` for an address that is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol by name: asyncio sets TCP_NODELAY only where it is told that a connection is TCP. Without it the
    # second piece of an answer waits until the client has confirmed the first, which takes it 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUseError(
                f"{host}:{port} is in use by another process; stop that one, or set {setting} to a free port"
            ) from error
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error.strerror}; set {setting} to an address of this machine"
        ) from error
    return listener


def base_url(listener: socket.socket) -> str:
    """Return the address of an open port as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
